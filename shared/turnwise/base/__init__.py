"""Foundations without any knowledge of conversations: ids, clocks, threads, sync and async."""
