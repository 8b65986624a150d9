"""A setting that the optimizer or the model does not use."""

from dataclasses import dataclass

from whyloss.check import Check, Need

WORDS = {
    "attribute": ("{subject} = {given:g} was written to the optimizer object; its group uses {used:g}",
                  "Nothing reads that attribute: an optimizer takes its settings from param_groups.", "set `optimizer.param_groups[i][...]`"),
    "defaults": ("{subject} was changed to {given:g} after the optimizer was made; its groups use {used:g}",
                 "Defaults are copied into the groups when the optimizer is made, and not read again.", "set `optimizer.param_groups[i][...]`"),
    "group-key": ("{subject} = {given:g}, lr = {used:g}", "Nothing reads that key: the rate's key is 'lr'.", "use the key 'lr'"),
    "module-attribute": ("{subject} = {given} is a plain attribute of the module", "Nothing reads that attribute, so nothing is switched.",
                         "call `module.requires_grad_(False)`, `module.train()` or `module.eval()`"),
    "parameter-attribute": ("{subject} = {given} is a new attribute of the tensor", "Nothing reads that attribute: the name is `requires_grad`.",
                            "set `parameter.requires_grad = False`"),
    "old-optimizer": ("the rate of {subject} was changed {changes} times, to {given:g}, while another optimizer steps the same parameters "
                      "at {used:g}",
                      "The changes go to an optimizer that does not step any more.",
                      "create the scheduler again from the new optimizer, or change the groups of the one that steps"),
    "unread": ("{subject} = {given:g} is given and never read; the optimizer runs at {used:g}", "The value reaches no optimizer.",
               "pass it on: lr={subject}"),
    "schedule": ("{subject} asked for {given:g}, runs at {used:g} from the first step", "The schedule multiplies the rate that was asked for; "
                 "a function that returns a rate is taken as a factor.", "let the schedule return factors, 1 for the rate that was asked for"),
    "loaded": ("{subject} asked for {given:g}, runs at {used:g} since load_state_dict", "A loaded state brings its own rate back.",
               "set the rate in param_groups after load_state_dict"),
    "overwritten": ("{subject} was made with {given:g}, which no step used; it runs at {used:g}", "The rate is overwritten before the first step.",
                    "let the code that adjusts the rate start from the rate that was asked for"),
}
DOUBTFUL = {"schedule", "loaded", "overwritten"}


@dataclass(frozen=True)
class SettingNotApplied(Check):
    """The learning rate, or another setting, that was given is not the one in use.

    Sees      attributes of optimizers, modules and parameters that torch does not read; defaults changed after the optimizer was made;
              rates of an optimizer that steps no more; rates that are given and read by no line; rates overwritten before the first step.
    Expects   every given value in a param_group at some step.
    Means     the run is not the experiment that it is taken for.
    Not for   schedules that reach the rate, layer-wise rates, rates that are read and scaled, an attribute that a class of the user's reads,
              a rate that was overwritten where training with it would not be better.
    Source    torch.optim: only param_groups are read, and load_state_dict restores them. What is overwritten is decided by an experiment.
    """

    stage = "wiring"
    needs = (Need("unapplied_setting"),)
    isolates = "what was set is what is used"
    causes = ("setting-not-applied",)

    def judge(self, evidence, run):
        for where, column in evidence.by_subject("unapplied_setting", run).items():
            row = column.last.value
            measured, means, remedy = WORDS[row["kind"]]
            doubt = row["kind"] in DOUBTFUL
            yield (self.suspect if doubt else self.prove)(
                "setting-not-applied", subject=row["subject"].split("[")[0], step=0, location=where,
                measured=measured.format(**row), expected="the value that was given, where the step reads it",
                message=means, remedies=(remedy.format(**row),),
                asks={"rate": row["rate"]} if row.get("rate") and not isinstance(row["rate"], (list, tuple)) else {},
                explains=("flat-from-start", "plateau-high", "diverged"))
