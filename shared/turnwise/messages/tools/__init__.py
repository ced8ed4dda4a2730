"""Tools that steer a conversation: ending tasks, passing on, addressing."""
