# gp-worker: the agent of a node, with the trainer for CPUs and LibTorch.
#   docker build -t gp-worker:0.1.0 -f docker/gp-worker.Dockerfile .        or: scripts/build_images
ARG PACKAGES=gp-packages:0.1.0
FROM ${PACKAGES} AS packages

FROM debian:bookworm-slim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="gp-worker" \
      org.opencontainers.image.description="gp agent and trainer for CPUs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# A numeric user id, so that Kubernetes can check runAsNonRoot; the same in every image, because they share volumes.
RUN groupadd --gid 65532 gp && useradd --uid 65532 --gid gp --home-dir /var/lib/gp --shell /usr/sbin/nologin gp
RUN --mount=type=bind,from=packages,source=/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends /packages/gp-engine_*.deb /packages/gp-worker_*.deb \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
    && install -d -o gp -g gp -m 0750 /run/gp
USER 65532:65532
WORKDIR /var/lib/gp
# The agent writes the file once a coordinator has accepted it. Training is not checked: slow training is no fault.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["test", "-s", "/tmp/address"]
EXPOSE 7072
ENTRYPOINT ["gp-worker"]
CMD ["--config", "/etc/gp/worker.yaml", "--address-file", "/tmp/address"]
