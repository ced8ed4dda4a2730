"""The machine: the step / valid / done logic of a task, without I/O, clock or threads.

spec.py        a task as a value                facts.py      what only the driver knows
state.py       where a task is                  actions.py    what a move decides, and what it is told
machine.py     the two moves of one task        work.py       the state while a move is made
step.py        the search for an answer         after_step.py what follows: done, loops, the next step
responders.py  who may answer                   routing.py    signals in an answer's text
done.py        done, valid, empty               result.py     a task's result
sequences.py   done-sequences                   loops.py      infinite loops
trust.py       what makes an answer tainted     stack.py       a task with its sub-tasks

A comment such as `# DONE-4` names the rule of docs/rules that the lines below it carry out.
"""
