# gp-gateway: serves checkpoints over HTTP, with the sampler for CPUs and LibTorch.
#   docker build -t gp-gateway:0.1.0 -f docker/gp-gateway.Dockerfile .        or: scripts/build_images
ARG PACKAGES=gp-packages:0.1.0
FROM ${PACKAGES} AS packages

FROM debian:bookworm-slim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="gp-gateway" \
      org.opencontainers.image.description="gp gateway: OpenAI-compatible completions from checkpoints, a playground, the page of runs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# A numeric user id, so that Kubernetes can check runAsNonRoot; the same in every image, because they share volumes.
RUN groupadd --gid 65532 gp && useradd --uid 65532 --gid gp --home-dir /var/lib/gp --shell /usr/sbin/nologin gp
RUN --mount=type=bind,from=packages,source=/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends /packages/gp-engine_*.deb /packages/gp-gateway_*.deb \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
    && install -d -o gp -g gp -m 0750 /run/gp
USER 65532:65532
WORKDIR /var/lib/gp
# /readyz answers 503 until all models are known, and while the gateway stops.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7080; printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3; head -1 <&3 | grep -q 200"]
EXPOSE 7080 7073
ENTRYPOINT ["gp-gateway"]
CMD ["--config", "/etc/gp/gateway.yaml"]
