"""The test suites of other libraries, as they come, run on mindtorch."""
