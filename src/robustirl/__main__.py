"""`python -m robustirl` is the `robustirl` command."""

import sys

from robustirl.cli import main

sys.exit(main())
