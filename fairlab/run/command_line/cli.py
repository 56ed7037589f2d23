"""Execution of entry points.

An error that the user can fix ends the entry point with a message of one sentence.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any, NoReturn

from hydra import initialize_config_dir
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from fairlab.checks.escapes import print_escaped
from fairlab.checks.redaction import without_secrets
from fairlab.checks.values import nearest_known
from fairlab.files import NO_NAME, check_folder
from fairlab.run.command_line.bare_words import explain_bare_word
from fairlab.run.command_line.missing_keys import missing_key
from fairlab.run.command_line.options import config_folder, with_plus, with_quotes
from fairlab.run.command_line.pipes import quiet_when_unread
from fairlab.run.config.gone import GONE
from fairlab.run.config.registered import EMPTY, entry_choices
from fairlab.run.launch.processes import started_by_torchrun, work_for_rank_0
from fairlab.types import FairlabError, ReviewNeeded, missing_extra

FULL_ERROR = "HYDRA_FULL_ERROR"
NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}
NO_PLACE = {errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG}
NOT_READ = {errno.EIO, errno.ENXIO, errno.ENODEV, errno.EBADMSG}  # errors of disks and devices, which name no file
NO_KEY = re.compile(r"Could not override '([^']+)'")
COMMA = re.compile(r"Ambiguous value for argument '(.*)' 1\. ")
PLACES = re.compile(r"\+*hydra\.(run|sweep)\.dir=['\"]?(.*?)['\"]?$")  # where Hydra writes before any code of a run


class Terminated(KeyboardInterrupt):
    """Exception for SIGTERM, which a scheduler sends before it reclaims the machine.

    The exception is handled like Ctrl-C.
    """


_traceback_wanted = False  # value in the environment when an entry point starts


def conf_dir() -> str:
    """Return the path of the configuration folder, in the checkout or in the installed wheel."""
    package = Path(__file__).resolve().parents[2]
    return str(package / "conf" if (package / "conf").is_dir() else package.parent / "conf")


@contextmanager
def initialised(folder: str | None = None) -> Iterator[None]:
    """Initialise Hydra within the context, with fairlab's configuration folder and an additional folder.

    Raises:
        FairlabError: The folder does not exist.
    """
    with initialize_config_dir(conf_dir(), version_base="1.3"):
        if folder is not None:
            if not Path(folder).is_dir():
                raise FairlabError(f"--config-dir {folder} is not a folder; give one that holds GROUP/NAME.yaml")
            search_path = create_config_search_path(conf_dir())
            search_path.prepend("command-line", f"file://{Path(folder).absolute()}")
            GlobalHydra.instance().clear()
            Hydra.create_main_hydra2("fairlab", search_path)
        yield


def run(main: Callable[[], Any], config_name: str) -> None:
    """Call a Hydra entry point.

    On an error that the user can fix, print one sentence and exit with 1. With ``HYDRA_FULL_ERROR=1`` in the
    environment, every error is shown with its traceback. Bugs always have a traceback. ``config_name`` is the root
    configuration, whose keys are listed if one is misspelled.
    """
    refuse_unwritable(sys.argv)
    sys.argv[1:] = with_plus(with_quotes(sys.argv[1:])) if config_name == "augment" else with_quotes(sys.argv[1:])
    if started_by_torchrun() and int(os.environ["RANK"]):
        try:
            work_for_rank_0()
        except FairlabError:  # rank 0 prints it
            sys.exit(1)
        return
    if {"--cfg", "-c"} & {*sys.argv} and "job" in sys.argv and "--resolve" not in sys.argv:
        sys.argv.append("--resolve")  # prints values that depend on the scale as the run uses them
    global _traceback_wanted
    _traceback_wanted = os.environ.get(FULL_ERROR) == "1"
    signal.signal(signal.SIGTERM, _terminated)
    if hasattr(signal, "SIGUSR2"):  # signal by which Slurm warns, as submitit requests
        signal.signal(signal.SIGUSR2, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    if _traceback_wanted:
        main()
        return
    os.environ[FULL_ERROR] = "1"  # so that Hydra passes errors on instead of printing them
    try:
        flags = get_args_parser()
        flags.error = refuse_flags  # type: ignore[method-assign]
        if sentence := explain_bare_word(sys.argv[1:], flags, Path(conf_dir()) / f"{config_name}.yaml"):
            raise FairlabError(sentence)
        flags.parse_args()
        refuse_places_that_lead_out(sys.argv[1:])
        main()
    except KeyboardInterrupt:
        stop("interrupted", code=130)
    except Exception as error:
        sentence = explain(error, config_name)
        if sentence is None:
            raise
        stop(sentence, exit_code(error))
    finally:  # for callers from Python
        os.environ.pop(FULL_ERROR, None)


def refuse_places_that_lead_out(arguments: Sequence[str]) -> None:
    """Raise if a run folder named in the command contains a link that leads out of it, which Hydra would follow."""
    for found in filter(None, map(PLACES.match, arguments)):
        if Path(found[2]).is_dir():
            check_folder(Path(found[2]))


class Arguments(argparse.ArgumentParser):
    """Argument parser for commands without Hydra.

    Wrong arguments raise an error with a one-sentence message.
    """

    def error(self, message: str) -> NoReturn:
        """Raise an error for a wrong argument, instead of printing the usage and exiting with 2."""
        refuse_flags(message)


def refuse_flags(message: str) -> NoReturn:
    """Raise an error with the message of an argument parser and a reference to ``--help``."""
    raise FairlabError(f"{message}; --help shows what this command takes")


def refuse_unwritable(arguments: Sequence[str]) -> None:
    """End the command if an argument is not UTF-8, because a record could not store it."""
    for argument in filter(NO_NAME.search, arguments):
        stop(f"{argument!a} is not UTF-8 text; write the argument, or name the file, in UTF-8")


def _terminated(*_: object) -> NoReturn:
    raise Terminated


@contextmanager
def one_sentence() -> Iterator[None]:
    """End a single run with a message of one sentence if the body raises an error that the user can fix.

    In a sweep, the error is passed on to Hydra, which runs the other jobs first.
    """
    try:
        with quiet_when_unread():
            yield
    except Exception as error:
        sentence = explain(error)
        if sentence is None or HydraConfig.get().mode != RunMode.RUN or _traceback_wanted:
            raise
        stop(sentence, exit_code(error))


@contextmanager
def one_sentence_without_hydra() -> Iterator[None]:
    """Print one sentence and end a command without Hydra, on Ctrl-C or an error that the user can fix."""
    refuse_unwritable(sys.argv)
    try:
        yield
    except KeyboardInterrupt:
        stop("interrupted", code=130)
    except (FairlabError, OSError, MemoryError) as error:
        sentence = explain(error)
        if sentence is None:
            raise
        stop(sentence)


def stop(sentence: str, code: int = 1) -> NoReturn:
    """Print one sentence and exit."""
    words = " ".join(without_secrets(sentence).splitlines())
    print_escaped(f"fairlab: {FairlabError(words)}", error=True)
    sys.exit(code)


def exit_code(error: BaseException) -> int:
    """Return the exit code: 3 if a person must fill in a file before the command can continue, else 1."""
    return 3 if isinstance(error, ReviewNeeded) else 1


def explain(error: BaseException, config_name: str = "train", given: Sequence[str] | None = None) -> str | None:
    """Explain an error that the user can fix in one sentence, or return None for a bug.

    If a key is misspelled, the keys of the root configuration ``config_name`` are listed. ``given`` are the overrides,
    or None for those on the command line.
    """
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    for link in chain:
        if isinstance(link, FairlabError):
            return str(link)
        if isinstance(link, MemoryError):
            return f"this machine has too little memory ({link or 'no more is free'}); give smaller files or batches"
        if isinstance(link, OSError) and link.errno in NOT_ALLOWED:
            return f"{link.filename}: {link.strerror}; choose another folder, or change who may write there"
        if isinstance(link, OSError) and link.filename and (link.errno in NO_PLACE or _is_of_system(link)):
            return f"{link.filename}: {link.strerror}; choose another place to write to"
        if isinstance(link, OSError) and link.errno in NOT_READ:
            return f"{link.filename or 'a file'} cannot be read or written ({link.strerror}); copy it to another place"
    text = " ".join(str(error).split())
    missing = re.search(r"Could not (?:find|load) '([^']+)'", text)
    if missing and missing[1] == "hydra/sweeper/optuna":
        return str(missing_extra("optuna", "sweep=optuna"))
    if missing and missing[1].partition("/")[0] in groups():
        return _no_such_choice(missing[1])
    given = sys.argv[1:] if given is None else given
    if unknown := NO_KEY.search(text):
        return _no_such_key(unknown[1], config_name, given)
    if "override_grammar" in text:  # part of the URL at the end of Hydra's parser errors
        return _unreadable(given, text)
    if comma := COMMA.match(text):
        return _several_values(comma[1])
    if isinstance(error, HydraException | OmegaConfBaseException):
        return text
    return _no_choice(given, text) if _is_of_hydra(error) else None


def _is_of_system(error: OSError) -> bool:
    """Return whether an error concerns a path reserved by the system (``/proc``, ``/sys``, ``/dev``)."""
    return str(error.filename).startswith(("/proc/", "/sys/", "/dev/"))


def asks_for_plan(arguments: Sequence[str]) -> bool:
    """Return whether a command contains ``dry_run=true``.

    If the setting is repeated, the last value counts.
    """
    values = [one.partition("dry_run=")[2] for one in arguments if re.match(r"\+*dry_run=", one)]
    return bool(values) and values[-1].casefold() in ("true", "1", "yes", "on")


def choices(group: str) -> list[str]:
    """Return the names of the choices in a configuration group, such as ``minilm`` and ``paper/bert``."""
    empty = [EMPTY[group][0]] if group in EMPTY else []
    own = config_folder(sys.argv[1:])
    folders = [Path(place) / group for place in (conf_dir(), own) if place is not None]
    names = [
        str(path.relative_to(folder).with_suffix(""))
        for folder in folders
        for depth in ("*.yaml", "*/*.yaml")  # deeper folders hold scales' changes to other choices
        for path in folder.glob(depth)
    ]
    return sorted({*names, *empty, *entry_choices(group)})


def groups() -> list[str]:
    """Return the names of the configuration groups."""
    return sorted(path.name for path in Path(conf_dir()).iterdir() if path.is_dir())


def first_of_sweep(override: str) -> str:
    """Return an override with only the first value of a sweep: ``key=1`` for ``key=1,2``.

    A list, a mapping or a quoted text is a single value.
    """
    return override if set(override) & set("[{'\"") else override.split(",")[0]


def _no_such_choice(path: str) -> str:
    group, _, name = path.partition("/")
    if path in GONE:
        return f"{group}={name} was removed; give {GONE[path]}"
    known = choices(group)
    return f"{group}={name}: no such choice{nearest_known(name, known)}; there are: {', '.join(known)}"


def _is_of_hydra(error: BaseException) -> bool:
    """Return whether an error was raised in Hydra's own code, which happens for values that Hydra does not expect."""
    raised_in = list(walk_tb(error.__traceback__))[-1:]
    return any(frame.f_globals.get("__name__", "").startswith("hydra.") for frame, _ in raised_in)


def _no_choice(given: Sequence[str], otherwise: str) -> str:
    """Return a sentence about the override that sets a group to a value that is not the name of a choice."""
    parser = OverridesParser.create()
    for found in map(parser.parse_override, _overrides(given)):
        group, value = found.key_or_group, found.value()
        names = value if isinstance(value, list) else [value]
        if group in groups() and not all(isinstance(name, str) for name in names):
            return f"{found.input_line}: {group} must be the name of a choice; there are: {', '.join(choices(group))}"
    return f"Hydra cannot run this command ({otherwise}); --help shows how to write it"


def _overrides(given: Sequence[str]) -> list[str]:
    return [argument for argument in given if "=" in argument and not argument.startswith("-")]


def _several_values(override: str) -> str:
    """Return a sentence about an override with a comma outside of brackets, which Hydra reads as a sweep."""
    key, _, value = override.lstrip("+").partition("=")
    first = value.partition(",")[0]
    file = Path(conf_dir()) / key / f"{first}.yaml"
    if file.is_file() and "_target_" in OmegaConf.load(file):
        return f"{override} names several choices, but {key} takes one; give {key}={first}, or add -m to run each"
    return (
        f"{override} has a comma outside of brackets; give {key}=[{value}] for a list, \"{key}='{value}'\" for one "
        "text, or add -m to run once for each"
    )


def _unreadable(given: Sequence[str], otherwise: str) -> str:
    """Return a sentence about the override that Hydra's grammar rejects."""
    parser = OverridesParser.create()
    for override in _overrides(given):
        try:
            parser.parse_override(override)
        except HydraException:
            return (
                f"Hydra cannot read {override}; close every bracket, and give a text that contains a bracket, or "
                "a sign such as = or , or !, quotes of its own, such as \"overrides=['a.b=c']\""
            )
    return otherwise


def _no_such_key(key: str, config_name: str, given: Sequence[str]) -> str:
    """Return a sentence about every misspelled key, with the valid keys of the configuration composed without them."""
    from hydra import compose

    wrong = [key]
    others, config = _overrides(given), None
    while config is None:
        others = [one for one in others if one.lstrip("+~").split("=")[0] != wrong[-1]]
        GlobalHydra.instance().clear()
        try:
            with warnings.catch_warnings(), initialised(config_folder([*sys.argv[1:], *given])):
                warnings.simplefilter("ignore")
                config = compose(config_name, overrides=[first_of_sweep(other) for other in others])
        except (HydraException, OmegaConfBaseException) as error:
            next_one = NO_KEY.search(str(error))
            if next_one is None or next_one[1] in wrong:
                break
            wrong.append(next_one[1])
    said = dict.fromkeys(_about_wrong_key(one, config_name, config) for one in wrong)
    first, *more = said
    return "; also, ".join([first, *(one.partition("; there are: ")[0] for one in more)])


def _about_wrong_key(key: str, config_name: str, config: DictConfig | None) -> str:
    """Return a sentence about one key. ``config`` is None if other overrides cannot be composed either."""
    if key == "experiment":
        return f"add the experiment with a plus: +experiment=NAME with: {', '.join(choices(key))}"
    if key in groups():
        if config_name != "train":
            return f"fairlab.{config_name} has no setting {key}; run it with --help to see its settings"
        return f"{key} cannot be given like this; choose it as {key}=NAME with: {', '.join(choices(key))}"
    if config is None:
        return f"there is no key '{key}'; run with --cfg job to see what there is"
    return missing_key(key, config)
