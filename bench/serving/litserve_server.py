"""LitServe with OpenVINO: litserve_server.py PORT; settings come in HONE_BENCH_SETTINGS."""
import sys

import litserve
from padded_classifier import SETTINGS, openvino_classifier


class Classifier(litserve.LitAPI):
    def setup(self, device):
        self.classify = openvino_classifier()
        self.classify(["warm"])

    def decode_request(self, request):
        return request["texts"]

    def batch(self, inputs):
        self.counts = [len(texts) for texts in inputs]
        return [text for texts in inputs for text in texts]

    def predict(self, texts):
        return self.classify(texts)

    def unbatch(self, scores):
        ends = [sum(self.counts[:i + 1]) for i in range(len(self.counts))]
        return [scores[end - count:end] for end, count in zip(ends, self.counts)]

    def encode_response(self, scores):
        return {"scores": scores.tolist()}


if __name__ == "__main__":
    api = Classifier(max_batch_size=SETTINGS["max_batch"], batch_timeout=SETTINGS["timeout"])
    server = litserve.LitServer(api, accelerator="cpu", devices=1, fast_queue=SETTINGS["zmq"],
                                workers_per_device=SETTINGS["workers"])
    server.run(host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False,
               generate_client_file=False, num_api_servers=1)
