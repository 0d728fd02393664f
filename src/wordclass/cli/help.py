"""The help of the commands: sections of commands and options, and examples at the end."""

from collections import defaultdict
from typing import Any, Literal

from typer.core import TyperCommand, TyperGroup

GroupTitle = Literal["Data", "Learn", "Use", "Look", "Reproduce"]

_COMMAND_SECTIONS: dict[str, str] = {
    "Data": "Data (corpora, vectors and caches)",
    "Learn": "Learn (embeddings and classifiers)",
    "Use": "Use (models)",
    "Look": "Look (into models, vectors and predictions)",
    "Reproduce": "Reproduce (the experiments of the paper)",
}
_OPTION_SECTIONS = ("Options", "Reading options", "Engine options", "General options")


def describe_argument(parameter: Any) -> tuple[str, str]:  # noqa: ANN401 - of typer
    """Return the name and the help of an argument as `--help` shows them."""
    return parameter.metavar or str(parameter.name).upper(), parameter.help or ""


class GroupedCommands(TyperGroup):
    """Group of commands whose help lists them by section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write one section per group of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        visible = [(name, command) for name, command in commands if command and not command.hidden]
        width = formatter.width - 6 - max(len(name) for name, _ in visible)
        rows = defaultdict(list)
        for name, command in visible:
            title = getattr(command, "rich_help_panel", None)
            rows[title].append((name, command.get_short_help_str(width)))
        for title in [*_COMMAND_SECTIONS, None]:
            if title in rows:
                with formatter.section(_COMMAND_SECTIONS[title] if title else "Commands"):
                    formatter.write_dl(rows[title])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Say where the help of a command is."""
        formatter.write_paragraph()
        formatter.write_text(
            f"Use '{ctx.command_path} COMMAND --help' to see the options of a command and examples."
        )


class HelpWithExamples(TyperCommand):
    """Command whose help lists its options by section and ends with examples."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """Return the words of the usage line: arguments are shown by their metavar."""
        arguments = [
            describe_argument(parameter)[0]
            for parameter in self.params
            if parameter.param_type_name == "argument"
        ]
        return ["[OPTIONS]", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the arguments, then the options by section."""
        rows = defaultdict(list)
        for parameter in self.get_params(ctx):
            panel = getattr(parameter, "rich_help_panel", None)
            if parameter.param_type_name == "argument":
                rows["Arguments"].append(describe_argument(parameter))
                continue
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_help = "--help" in parameter.opts
                rows["General options" if is_help else panel or "Options"].append(record)
        for title in ("Arguments", *_OPTION_SECTIONS):
            if title in rows:
                with formatter.section(title):
                    formatter.write_dl(rows[title])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the examples as they are."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.splitlines():
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")
