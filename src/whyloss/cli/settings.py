"""Defaults of options: flag, then environment (WHYLOSS_STEPS), then [tool.whyloss] of the nearest pyproject.toml."""

import tomllib
from pathlib import Path

import click

from whyloss.errors import BadInput, UnknownName


def table(folder: Path | None = None) -> tuple[dict, Path | None]:
    """The [tool.whyloss] table of the nearest pyproject.toml at or above `folder`, and that file. Raises BadInput."""
    folder = (folder or Path.cwd()).absolute()
    for parent in (folder, *folder.parents):
        file = parent / "pyproject.toml"
        if file.is_file():
            try:
                tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
            except (OSError, ValueError) as error:
                raise BadInput(f"cannot read {file}: {error}") from error
            found = tool.get("whyloss", {}) if isinstance(tool, dict) else {}
            if not isinstance(found, dict):
                raise BadInput(f"{file}: tool.whyloss should be a table")
            return found, file
    return {}, None


class Configured(click.Command):
    """A command whose options take their defaults from [tool.whyloss]; an unknown key there is an error."""

    def make_context(self, info_name, args, parent=None, **extra):
        if "--help" not in args[:1]:
            extra.setdefault("default_map", self._defaults())
        return super().make_context(info_name, args, parent, **extra)

    def _defaults(self) -> dict:
        """Parameter name -> value, as far as this command has the option. Raises UnknownName or BadInput."""
        from whyloss.cli.run import command as run

        found, file = table()
        known = {option_key(p): p for p in run.params if isinstance(p, click.Option)}
        mine = {p.name for p in self.params}
        defaults = {}
        for key, value in found.items():
            if key not in known:
                raise UnknownName(f"key in [tool.whyloss] of {file}:", key, known)
            option = known[key]
            if option.multiple:
                value = [value] if isinstance(value, str) else value
                if not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
                    raise BadInput(f"{file}: tool.whyloss.{key} should be a list of strings, got {value!r}")
            elif option.is_flag and not isinstance(value, bool):
                raise BadInput(f"{file}: tool.whyloss.{key} should be true or false, got {value!r}")
            elif not option.is_flag and (isinstance(value, bool) or not isinstance(value, (int, float))):
                raise BadInput(f"{file}: tool.whyloss.{key} should be a number, got {value!r}")
            if option.name in mine:
                defaults[option.name] = value
        return defaults


def option_key(option: click.Parameter) -> str:
    """--no-experiments -> no-experiments."""
    return max(option.opts, key=len).lstrip("-")


def variable(name: str) -> str:
    """The environment variable of an option: --no-experiments -> WHYLOSS_NO_EXPERIMENTS."""
    return "WHYLOSS_" + name.lstrip("-").replace("-", "_").upper()


def option(name: str, **facts):
    """A click option that can also be set by its environment variable."""
    return click.option(name, envvar=variable(name), **facts)
