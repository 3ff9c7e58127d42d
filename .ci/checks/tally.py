"""Counts what was checked, and says what failed as it happens.

The closing line is `NAME: N passed, N failed`.
"""

import sys
import threading


class Tally:
    """The checks of one step."""

    def __init__(self, name):
        self.name = name
        self.passed = 0
        self.failed = 0
        self._turn = threading.Lock()

    def check(self, what, holds, found=None):
        """Counts one check. `found` is shown where it fails."""
        # Conversations are checked side by side.
        with self._turn:
            if holds:
                self.passed += 1
                return True
            self.failed += 1
            print(f"FAILED {self.name}: {what}")
            if found is not None:
                text = found if isinstance(found, str) else repr(found)
                print("       found:", text if len(text) <= 1500 else f"{text[:1500]} … ({len(text)} characters)")
            return False

    def close(self):
        """Prints the closing line and ends the process: 0 where everything held."""
        print(f"{self.name}: {self.passed} passed, {self.failed} failed")
        # A step that looked at nothing must not look well.
        sys.exit(1 if self.failed or not self.passed else 0)
