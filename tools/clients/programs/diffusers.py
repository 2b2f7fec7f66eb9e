"""A small U-Net of diffusers with schedulers: three training steps, and pictures sampled."""

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    UNet2DModel,
)


def program():
    torch.manual_seed(0)
    model = UNet2DModel(
        sample_size=16,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(16, 32),
        norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    noise = DDPMScheduler(num_train_timesteps=50)
    pictures = torch.rand(4, 1, 16, 16) * 2 - 1
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(3):
        drawn, times = torch.randn_like(pictures), torch.randint(0, 50, (4,))
        loss = torch.nn.functional.mse_loss(model(noise.add_noise(pictures, drawn, times), times).sample, drawn)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield f"loss {step}", loss
    model.eval()
    for kind in (DDPMScheduler, DDIMScheduler, EulerDiscreteScheduler, DPMSolverMultistepScheduler):
        schedule = kind(num_train_timesteps=50)
        schedule.set_timesteps(4)
        generator = torch.Generator().manual_seed(3)
        sample = torch.randn(1, 1, 16, 16, generator=generator) * schedule.init_noise_sigma
        with torch.no_grad():
            for time in schedule.timesteps:
                predicted = model(schedule.scale_model_input(sample, time), time).sample
                options = {"generator": generator} if kind in (DDPMScheduler, EulerDiscreteScheduler) else {}
                sample = schedule.step(predicted, time, sample, **options).prev_sample
        yield kind.__name__, sample
    coder = AutoencoderKL(block_out_channels=(16,), norm_num_groups=8, latent_channels=2).eval()
    latent = coder.encode(torch.rand(1, 3, 16, 16)).latent_dist.sample(torch.Generator().manual_seed(0))
    yield "decoded", coder.decode(latent).sample
