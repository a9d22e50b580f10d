# gp-worker-cuda: the agent of a node with NVIDIA GPUs. Compiles gp itself, because that needs the CUDA toolkit.
#   docker build -t gp-worker-cuda:0.1.0 -f docker/gp-worker-cuda.Dockerfile .     or: scripts/build_images gp-worker-cuda
# The driver comes from the host (NVIDIA's container toolkit). Most of the size is cuBLAS, cuDNN and NCCL.
FROM debian:bookworm-slim AS build
WORKDIR /src
COPY scripts/bootstrap scripts/bootstrap
RUN apt-get update && scripts/bootstrap --cuda
COPY . .
RUN cmake --preset cuda-all -DGP_TESTS=OFF \
    && cmake --build build/cuda-all --target programs cuda_programs \
    && cpack --config build/cuda-all/CPackConfig.cmake -B /packages -D CPACK_COMPONENTS_ALL="gp-engine;gp-worker" \
    && cmake --install build/cuda-all --prefix /cuda --component gp-engine-cuda --strip
# The programs look in $ORIGIN/../lib/gp (DT_RPATH) before they look in the folders where the toolkit was.
RUN find -L .deps/cuda \( -name 'libcudart.so.*' -o -name 'libcublas*.so.*' -o -name 'libcudnn*.so.*' -o -name 'libnccl.so.*' \) \
    -exec cp -t /cuda/lib/gp {} +

FROM debian:bookworm-slim
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="gp-worker-cuda" \
      org.opencontainers.image.description="gp agent and trainers for NVIDIA GPUs and CPUs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# Tells NVIDIA's container runtime which GPUs and driver libraries to mount from the host.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN groupadd --gid 65532 gp && useradd --uid 65532 --gid gp --home-dir /var/lib/gp --shell /usr/sbin/nologin gp
# CUDA's libraries change less often than gp: a layer of their own.
COPY --from=build /cuda/lib/gp /usr/lib/gp
RUN --mount=type=bind,from=build,source=/packages,target=/packages \
    apt-get update \
    && apt-get install -y --no-install-recommends /packages/gp-engine_*.deb /packages/gp-worker_*.deb \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
    && install -d -o gp -g gp -m 0750 /run/gp
COPY --from=build /cuda/bin /usr/bin
USER 65532:65532
WORKDIR /var/lib/gp
# The agent writes the file once a coordinator has accepted it. Training is not checked: slow training is no fault.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["test", "-s", "/tmp/address"]
EXPOSE 7072
ENTRYPOINT ["gp-worker"]
CMD ["--config", "/etc/gp/worker.yaml", "--address-file", "/tmp/address"]
