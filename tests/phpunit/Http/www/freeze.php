<?php

declare(strict_types=1);

// For auto_prepend_file: in the middle of a minute, by every clock of this worker.
rate_limit_freeze(1_700_000_010_000_000);
header('X-Worker: ' . getmypid());
