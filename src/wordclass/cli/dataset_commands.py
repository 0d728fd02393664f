"""The command about data sets: what there is, what is here, how to get the rest."""

from typing import Annotated

import typer

from wordclass.cli.settings import Settings, command
from wordclass.errors import InputError
from wordclass.storage import data_home


def add_to(app: typer.Typer) -> None:
    """Make `datasets` a command of the app."""
    command(app)(datasets)


def datasets(
    settings: Settings,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show all about this one.")
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch it, where its owner allows that.")
    ] = False,
) -> None:
    """Show what data sets there are, which are here, and how to get the rest."""
    from wordclass.report import dataset_overview

    home = data_home()
    if name is None:
        if download:
            raise InputError("--download needs the name of a data set: wordclass datasets NAME")
        facts = dataset_overview.look_up_all(home)
        result = {"datasets": [each.to_dict() for each in facts]}
        settings.show(result, dataset_overview.to_table(facts))
        return
    one = dataset_overview.look_up(name, home)
    if download:
        if one.source.is_built or (one.is_here and one.source.is_complete_download):
            settings.say(f"{name} is here already, nothing to download")
        else:
            settings.say(f"fetched {one.source.fetch(home)}")
            one = dataset_overview.look_up(name, home)
    settings.show(one.to_dict(), dataset_overview.to_text(one, home))
    if download and not one.is_here:
        raise InputError(f"{name} cannot be downloaded as a whole: {one.source.how_to_get}")
