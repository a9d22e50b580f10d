// The colors of SVG charts: those of the gateway's pages (pages/shared/theme.css and
// pages/runs/style.css). Any two curves differ for people with each kind of colour blindness, too.
// Constants.
#pragma once

#include <array>

#include "client/gpctl/plot/chart.h"

namespace gp::gpctl {

struct SvgTheme {
  const char* surface;  // behind everything
  const char* text;
  const char* muted;  // texts of axes
  const char* line;   // the grid
  std::array<const char*, kCurveColorCount> series;
};

inline constexpr SvgTheme kLightTheme = {
    "#ffffff",
    "#171a21",
    "#565e6c",
    "#dde1e7",
    {"#700ffe", "#ba3b04", "#0f806c", "#f81cae", "#b4892d", "#2990e0", "#7e0a00", "#484b5d"}};

inline constexpr SvgTheme kDarkTheme = {
    "#151a22",
    "#e7eaf0",
    "#9ba5b4",
    "#2a323d",
    {"#686ff9", "#fc9222", "#96fae1", "#a973a1", "#fbea23", "#24b5fc", "#ef0d2b", "#afb3a7"}};

}  // namespace gp::gpctl
