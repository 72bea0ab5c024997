"""A plugin of pytest: writes each result, of subtests too, into the file that MILLSTREAM_RESULTS names."""

import os

RESULTS = open(os.environ["MILLSTREAM_RESULTS"], "w", buffering=1)


def pytest_runtest_logreport(report):
    # Preparing and cleaning up count only where they did not succeed.
    if report.when == "call" or not report.passed:
        RESULTS.write(f"{report.nodeid}\t{report.outcome}\n")
