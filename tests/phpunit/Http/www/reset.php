<?php

declare(strict_types=1);

(new SlidingWindowLog('memory://', limit: 5, windowSeconds: 31_536_000))->reset($_GET['identity']);
