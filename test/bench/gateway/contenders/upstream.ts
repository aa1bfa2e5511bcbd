import { createServer, type ServerResponse } from 'node:http';
import { chat, type Format, messages, responses } from '../formats.ts';
import { LARGE_PIECE, now, PACE, type Pace, PIECES, pieceOf } from '../marks.ts';

// Streams in the format of the path, at the pace in the model's name.

/** Parts that all streams of a format share, encoded in advance. */
interface Score {
  readonly format: Format;
  readonly opening: string;
  /** Encoded for the wire, so that sending them takes little CPU. */
  readonly pieces: readonly Buffer[];
  readonly closing: string;
  readonly large: Buffer;
}

/** Milliseconds after an immediate first piece: longer than any gateway needs, too short for its caches to cool down. */
const PAUSE = 3;

/** A piece of a response in chunked transfer coding (RFC 9112, section 7.1). */
function chunkOf(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

const scores = new Map<string, Score>();
for (const format of [chat, responses, messages]) {
  const texts = Array.from({ length: PIECES }, (_, index) => pieceOf(index, 0));
  scores.set(format.path, {
    format,
    opening: format.opening(),
    pieces: texts.map((text, index) => chunkOf(format.delta(text, index))),
    closing: format.closing(texts.join(''), PIECES),
    large: Buffer.from(format.delta('boats '.repeat(LARGE_PIECE / 6), 0)),
  });
}

const paces: Record<Pace, (response: ServerResponse, score: Score) => void> = {
  /** At full speed, but never two pieces in one turn of the event loop, which the kernel would merge. */
  flat(response, { pieces, closing }) {
    let index = 0;
    const next = () => {
      if (response.destroyed) return;
      response.socket?.write(pieces[index]!);
      index += 1;
      if (index < pieces.length) setImmediate(next);
      else response.end(closing);
    };
    next();
  },

  paced(response, { format }) {
    let index = 0;
    let text = '';
    const next = () => {
      const piece = pieceOf(index, now());
      response.write(format.delta(piece, index));
      text += piece;
      index += 1;
      if (index < PIECES) return;
      clearInterval(timer);
      response.end(format.closing(text, PIECES));
    };
    const timer = setInterval(next, PACE);
    response.once('close', () => clearInterval(timer));
    next();
  },

  /** The first piece at once and the rest later, so that they do not delay the first one. */
  prompt(response, { pieces, closing }) {
    const [first, ...rest] = pieces;
    response.socket?.write(first!);
    setTimeout(() => {
      if (response.destroyed) return;
      response.socket?.write(Buffer.concat(rest));
      response.end(closing);
    }, PAUSE);
  },

  /** An endless stream, as fast as the client reads it. */
  large(response, { large }) {
    const fill = () => {
      while (!response.destroyed && response.write(large));
    };
    response.on('drain', fill);
    fill();
  },
};

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.once('end', () => {
    const score = scores.get(request.url ?? '');
    const { model = '' } = parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString());
    if (score === undefined || !(model in paces)) {
      response.end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(score.opening);
    paces[model as Pace](response, score);
  });
});
// Closing an idle connection while its next request is under way would fail that request.
server.keepAliveTimeout = 3_600_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, msg: 'ready' })}\n`);
});
process.once('SIGTERM', () => process.exit());
