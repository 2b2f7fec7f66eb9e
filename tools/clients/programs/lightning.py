"""A Trainer of lightning: fit, validate, a checkpoint, bfloat16."""

import tempfile

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger


class Module(lightning.LightningModule):
    def __init__(self, width: int = 16):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 2))
        self.losses = []

    def training_step(self, batch, index):
        given, label = batch
        loss = torch.nn.functional.cross_entropy(self.net(given), label)
        self.log("loss", loss)
        self.losses.append(loss.detach())
        return loss

    def validation_step(self, batch, index):
        given, label = batch
        self.log("accuracy", (self.net(given).argmax(-1) == label).float().mean())
        self.log("checked", torch.nn.functional.cross_entropy(self.net(given), label))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)}


def program():
    for precision in ("32-true", "bf16-mixed"):
        lightning.seed_everything(0, verbose=False)
        given = torch.randn(48, 4)
        pairs = torch.utils.data.TensorDataset(given, (given.sum(1) > 0).long())
        loader = torch.utils.data.DataLoader(pairs, batch_size=8, shuffle=True)
        with tempfile.TemporaryDirectory() as folder:
            kept = ModelCheckpoint(dirpath=folder, monitor="checked", save_last=True)
            trainer = lightning.Trainer(
                max_epochs=2,
                accelerator="cpu",
                precision=precision,
                logger=CSVLogger(folder),
                callbacks=[kept],
                gradient_clip_val=0.5,
                enable_progress_bar=False,
                enable_model_summary=False,
            )
            model = Module()
            checked = torch.utils.data.DataLoader(pairs, batch_size=16)
            trainer.fit(model, loader, checked)
            yield f"{precision} losses", model.losses
            yield f"{precision} metrics", dict(sorted(trainer.callback_metrics.items()))
            restored = Module.load_from_checkpoint(kept.last_model_path)
            yield f"{precision} restored", restored.net(given[:3])
            (found,) = trainer.validate(restored, checked, verbose=False)
            yield f"{precision} validated", [found["accuracy"], found["checked"]]
