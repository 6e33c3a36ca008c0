"""The runs of run_goldens.py: samples, and the flags of each recipe."""
import dataclasses

import torch

EPOCHS = 20

SAMPLES = [
    {"text": "the film is great", "label": "good", "labels": ["good"]},
    {"text": "a dull movie", "label": "bad", "labels": ["bad"]},
    {"text": "the plot was not good , it was the worst", "label": "bad", "labels": ["bad", "odd"]},
    {"text": "very very very fun", "label": "good", "labels": ["good", "odd"]},
    {"text": "i", "label": "odd", "labels": ["odd"]},
    {"text": "the actor never acted", "label": "bad", "labels": []},
    {"text": "a story of love and hate", "label": "good", "labels": ["good", "bad"]},
    {"text": "is it ?", "label": "odd", "labels": ["good", "bad", "odd"]},
]

# All eight samples make one step: batches of three, three and two.
COMMON = {
    "--num_train_epochs": str(EPOCHS),
    "--per_device_train_batch_size": "3",
    "--gradient_accumulation_steps": "3",
    "--learning_rate": "0.004",
    "--adam_epsilon": "1e-06",
}


@dataclasses.dataclass
class Case:
    name: str
    own_flags: dict
    unlike: str | None = "plain"  # the run whose losses it must not have
    exits: str = ""
    multi_label: bool = False
    frozen: str = ""  # the beginning of names that --freeze keeps
    weights_too: bool = False  # the golden has the weights behind the last step

    @property
    def flags(self):
        return {**COMMON, **self.own_flags}

    def number(self, flag, default=None):
        return float(self.flags.get(flag, default))

    def weights(self, flag):
        text = self.flags.get(flag)
        if text is None or text == "balanced":
            return None
        return torch.tensor([float(part) for part in text.split(",")], dtype=torch.float64)


SGD = {"--optim": "sgd", "--learning_rate": "0.1", "--momentum": "0.8"}

CASES = [
    Case("plain", {}, unlike=None),
    Case("linear_warmup", {"--warmup_steps": "6"}),
    Case("cosine", {"--lr_scheduler_type": "cosine", "--warmup_ratio": "0.2"}, weights_too=True),
    Case("constant", {"--lr_scheduler_type": "constant"}),
    Case("constant_with_warmup",
         {"--lr_scheduler_type": "constant_with_warmup", "--warmup_steps": "5"}, unlike="constant"),
    Case("weight_decay", {"--weight_decay": "2"}, weights_too=True),
    Case("adam_beta1", {"--adam_beta1": "0.6"}),
    Case("adam_beta2", {"--adam_beta2": "0.9"}, weights_too=True),
    Case("adam_epsilon", {"--adam_epsilon": "0.01"}),
    Case("max_grad_norm", {"--max_grad_norm": "0.02"}),
    Case("no_clipping", {"--max_grad_norm": "0"}),
    Case("label_smoothing", {"--label_smoothing_factor": "0.2"}),
    Case("class_weights", {"--class_weights": "0.4,1.7,2.5"}),
    Case("balanced_and_smoothed",
         {"--class_weights": "balanced", "--label_smoothing_factor": "0.1"}),
    Case("freeze", {"--freeze": "bert.embeddings.*"}, frozen="bert.embeddings.",
         weights_too=True),
    Case("sgd", SGD, unlike="plain"),
    Case("sgd_momentum", {**SGD, "--momentum": "0.3"}, unlike="sgd"),
    Case("sgd_weight_decay", {**SGD, "--weight_decay": "0.05"}, unlike="sgd", weights_too=True),
    Case("sgd_max_grad_norm", {**SGD, "--max_grad_norm": "0.1"}, unlike="sgd"),
    Case("sgd_nesterov", {**SGD, "--nesterov": "", "--weight_decay": "0.05"},
         unlike="sgd_weight_decay"),
    Case("sgd_step", {**SGD, "--lr_scheduler_type": "step", "--lr_step_size": "6",
                      "--lr_gamma": "0.3"}, unlike="sgd"),
    Case("one_cycle", {"--lr_scheduler_type": "one_cycle"}),
    Case("multi_label", {}, multi_label=True),
    Case("pos_weights", {"--pos_weights": "0.5,3,1.5"}, multi_label=True, unlike="multi_label"),
    Case("everything", {"--lr_scheduler_type": "cosine", "--warmup_steps": "4",
                        "--weight_decay": "0.5", "--adam_beta1": "0.8", "--adam_beta2": "0.95",
                        "--max_grad_norm": "0.3", "--label_smoothing_factor": "0.1",
                        "--class_weights": "0.4,1.7,2.5"}, weights_too=True),
    Case("pabee", {"--early_exit": "pabee"}, exits="pabee", weights_too=True),
    Case("deebert", {"--early_exit": "deebert"}, exits="deebert", weights_too=True),
    Case("pabee_weighted", {"--early_exit": "pabee", "--class_weights": "0.4,1.7,2.5",
                            "--label_smoothing_factor": "0.1"}, exits="pabee", unlike="pabee"),
]
