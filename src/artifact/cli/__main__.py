"""``python -m artifact.cli``."""

import sys

from artifact.cli.main import main

sys.exit(main())
