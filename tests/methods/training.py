"""A quiet trainer for tests of methods, and the losses of its steps."""

import lightning
import torch


def make_trainer(folder, **changes):
    settings = {
        "max_epochs": 1,
        "accelerator": "cpu",
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
        "default_root_dir": folder,
    }
    return lightning.Trainer(**settings | changes)


def fit(method, data, folder, *, ckpt_path=None, **changes):
    """Train a method on data, and return the trainer."""
    trainer = make_trainer(folder, **changes)
    trainer.fit(method, data, ckpt_path=ckpt_path, weights_only=True)
    return trainer


def clipped_norm(method):
    """Return the norm of a gradient of ones in all trained weights, after clipping as the method does by default."""
    for weight in method.trained_weights:
        weight.grad = torch.ones_like(weight)
    method.configure_gradient_clipping(None)
    return torch.stack([weight.grad.norm() for weight in method.trained_weights]).norm().item()


def losses_of(method):
    """Return a list that collects the losses of a method's steps to come."""
    losses = []
    method.on_train_batch_end = lambda outputs, *_: losses.append(outputs["loss"].item())
    return losses
