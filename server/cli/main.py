"""The command `swell`. Machine output (`--json`) goes to stdout alone; problems go to stderr.

Exit codes: 0 done, 1 refused or the watched run did not succeed, 2 bad usage or spec, 3 not found, 4 no server answers,
130 interrupted.

SWELL_URL and SWELL_TOKEN name a server elsewhere; without them it is the one of SWELL_HOME (~/.swell).
"""

from __future__ import annotations

import sys

import typer

from server.cli import database_commands, record_commands, run_commands, server_commands
from server.cli.problem import ExitCode, command_error, exit_code_of
from server.cli.terminal import RefusedFieldsError, tell_problem
from server.client.problem import SwellError

app = typer.Typer(
    help="Reinforcement learning of language models with a batch size that may change at every step.",
    epilog=__doc__.partition("\n\n")[2],
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for part in (server_commands, run_commands, record_commands, database_commands):
    app.add_typer(part.commands)


def main() -> None:
    """Entry point: run the command, and turn what goes wrong into a message and an exit code."""
    # A usage error comes before any option is known, and a script that asked for JSON wants it then too.
    as_json = "--json" in sys.argv[1:]
    try:
        app()
    except RefusedFieldsError as refused:
        tell_problem(refused.error.problem, as_json=as_json, place=refused.place)
        sys.exit(exit_code_of(refused.error))
    except SwellError as error:
        tell_problem(error.problem, as_json=as_json)
        sys.exit(exit_code_of(error))
    except OSError as error:
        # A disk that is full, a file that is not ours: the system's own sentence says more than a traceback would.
        tell_problem(command_error(ExitCode.FAILED, "system", "Failed", str(error)).problem, as_json=as_json)
        sys.exit(ExitCode.FAILED)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    main()
