"""``python -m artifact.cli``."""

import sys

from artifact.cli import main

sys.exit(main())
