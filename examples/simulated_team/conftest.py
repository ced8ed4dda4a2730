"""Makes the fixture `simulate` known to the tests below."""

pytest_plugins = ["turnwise.testing.plugin"]
