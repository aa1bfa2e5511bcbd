import { createServer } from 'node:http';
import sharp from 'sharp';

// A provider of images. The model name sets the time of its response: `hold` never, `after-200` after 200 ms.
// GET /took returns the milliseconds of each prompt, and deletes them.

const side = 64;
const background = { r: 40, g: 90, b: 160 };
const picture = await sharp({ create: { width: side, height: side, channels: 3, background } })
  .png()
  .toBuffer();
const answer = JSON.stringify({ created: 1, data: [{ b64_json: picture.toString('base64') }] });

let took: Record<string, number> = {};

const server = createServer((request, response) => {
  const began = performance.now();
  if (request.method === 'GET') {
    response.end(request.url === '/took' ? JSON.stringify(took) : 'ready');
    if (request.url === '/took') took = {};
    return;
  }
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const order = JSON.parse(Buffer.concat(pieces).toString()) as { model: string; prompt: string };
    if (order.model === 'hold') return;
    const give = () => {
      response.setHeader('content-type', 'application/json');
      response.end(answer);
      took[order.prompt] = performance.now() - began;
    };
    const delay = Number(order.model.replace('after-', ''));
    if (delay === 0) give();
    else setTimeout(give, delay);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}`, msg: 'ready' })}\n`);
});
process.once('SIGTERM', () => process.exit());
