# gp-coordinator: the coordinator, and gpctl.
#   docker build -t gp-coordinator:0.1.0 -f docker/gp-coordinator.Dockerfile .        or: scripts/build_images
ARG PACKAGES=gp-packages:0.1.0
FROM ${PACKAGES} AS packages

FROM debian:bookworm-slim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="gp-coordinator" \
      org.opencontainers.image.description="gp coordinator and gpctl: queues, places and watches training runs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# A numeric user id, so that Kubernetes can check runAsNonRoot; the same in every image, because they share volumes.
RUN groupadd --gid 65532 gp && useradd --uid 65532 --gid gp --home-dir /var/lib/gp --shell /usr/sbin/nologin gp
RUN --mount=type=bind,from=packages,source=/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
        /packages/gpctl_*.deb /packages/gp-coordinator_*.deb \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
    && install -d -o gp -g gp -m 0750 /run/gp
USER 65532:65532
ENV HOME=/tmp GPCTL_SERVER=unix:/run/gp/coordinator.sock
WORKDIR /var/lib/gp
# Sends a request that exercises the server and the state.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["gpctl", "list", "--server", "unix:/run/gp/coordinator.sock", "--timeout", "4s"]
EXPOSE 7070 7071
ENTRYPOINT ["gp-coordinator"]
CMD ["--config", "/etc/gp/coordinator.yaml"]
