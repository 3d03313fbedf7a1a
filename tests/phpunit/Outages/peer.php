<?php

declare(strict_types=1);

// A server that is none: listens on the port in its first argument and answers whatever it is sent with the
// bytes of the others (escaped as in C), one for each thing it is sent, the last one ever after. One that begins
// with "close:" ends the connection after its bytes; an empty one is no answer.
$answers = array_map(stripcslashes(...), array_slice($argv, 2));
$listener = stream_socket_server("tcp://127.0.0.1:$argv[1]");
$clients = $asked = [];
while (true) {
    $ready = [$listener, ...$clients];
    $none = null;
    stream_select($ready, $none, $none, null);
    foreach ($ready as $socket) {
        $id = (int) $socket;
        if ($socket === $listener) {
            $client = stream_socket_accept($listener);
            $clients[(int) $client] = $client;
            continue;
        }
        if ((string) fread($socket, 65536) === '') {
            unset($clients[$id]);
            continue;
        }
        $answer = $answers[min($asked[$id] = ($asked[$id] ?? -1) + 1, count($answers) - 1)];
        $close = str_starts_with($answer, 'close:');
        @fwrite($socket, $close ? substr($answer, 6) : $answer);
        if ($close) {
            unset($clients[$id], $asked[$id]);
            fclose($socket);
        }
    }
}
