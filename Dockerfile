# fairlab with its offline models, on the CPU:
#   docker build --tag fairlab .
#   docker run --rm --volume "$PWD:/work" --user "$(id -u):$(id -g)" fairlab evaluate model=minilm benchmark=seat
FROM python:3.12-slim
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1 HOME=/tmp
COPY constraints.txt /source/
RUN pip install "$(grep '^torch==' /source/constraints.txt)" --index-url https://download.pytorch.org/whl/cpu
COPY . /source/
RUN pip install --constraint /source/constraints.txt '/source[offline]' && rm -r /source
RUN useradd --create-home fairlab
USER fairlab
WORKDIR /work
ENTRYPOINT ["fairlab"]
