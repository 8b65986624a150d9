"""`%%whyloss` for notebooks: `%load_ext whyloss`, then `%%whyloss` on top of a cell that trains. The cell runs unchanged, watched."""


def load_ipython_extension(shell) -> None:
    """Called by `%load_ext whyloss`."""
    shell.register_magic_function(lambda line, cell: run_cell(shell, line, cell), magic_kind="cell", magic_name="whyloss")


def run_cell(shell, line: str, cell: str):
    """Run the cell in the user's namespace under a watch. -> the report, which displays itself. line: "--budget 20 --no-experiments"."""
    from whyloss.cli.api import shown
    from whyloss.diagnosis.diagnose import diagnose
    from whyloss.laboratory.lab import open_laboratory
    from whyloss.sources.watch import Watch

    words = line.split()
    budget = float(words[words.index("--budget") + 1]) if "--budget" in words else 60.0
    watch = Watch().start()
    try:
        result = shell.run_cell(cell)
    finally:
        watch.stop()
    if result.error_in_exec is not None and not watch.window_count:
        return None  # the cell's own traceback is shown by the shell
    experiments = "--no-experiments" not in words
    laboratory = open_laboratory(watch.program, watch.evidence, budget=budget) if experiments else None
    return shown(diagnose(watch.evidence, laboratory, experiments=experiments, script="notebook cell"))
