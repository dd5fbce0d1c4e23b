# The service of an exported model, without PyTorch:
#   docker build --tag spanwise-serve .
#   docker run --rm --publish 127.0.0.1:8000:8000 --volume "$PWD/exported:/model:ro" spanwise-serve
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/spanwise-*.whl)[serve]" \
    && rm -r /wheels \
    && useradd --no-create-home --uid 10001 --shell /usr/sbin/nologin spanwise
ENV HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
# Inside a container the service must listen on all addresses; --publish decides who can reach it.
ENTRYPOINT ["spanwise", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["/model"]
