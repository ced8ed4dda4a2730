"""The threads that conversations at once share. Only the standard library is imported, as in `counting`."""

# In each process of every contender that has threads. Answers take no time here, so more of them only stand in each
# other's way: Turnwise's workers were slower with 8 and 16, Celery with 8, LangGraph with 50.
THREADS = 3
# Two pools of workers hand each other every turn, and are quicker with more.
POOL_THREADS = 8
