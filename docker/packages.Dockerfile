# gp-packages: gp's Debian packages and nothing else. The images of the daemons install from it, so gp is compiled once.
#   docker build -t gp-packages:0.1.0 -f docker/packages.Dockerfile .        or: scripts/build_images
FROM debian:bookworm-slim AS build
WORKDIR /src
# Compilers, libraries and LibTorch: built again only when this script changes.
COPY scripts/bootstrap scripts/bootstrap
RUN apt-get update && scripts/bootstrap
COPY . .
RUN cmake --preset release -DGP_TESTS=OFF \
    && cmake --build build/release --target programs \
    && cpack --config build/release/CPackConfig.cmake -B /packages \
    && rm -rf /packages/_CPack_Packages

FROM scratch
COPY --from=build /packages /packages
