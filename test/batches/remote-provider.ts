import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { openServer } from '../fixtures/open-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of two interfaces
type Loose = any;

/** A request of a batch that the provider has. */
interface Line {
  readonly custom_id: string;
  readonly body: Loose;
}

/** A provider with the batches of OpenAI and of Anthropic, by their references. It answers each line once it is told to. */
export class RemoteProvider {
  /** Method and path of each request. */
  readonly seen: string[] = [];
  lines: readonly Line[] = [];
  /** The state of the batch. */
  state = 'in_progress';
  /** Status of the answers to new batches. */
  status = 200;
  /** The request that gets no answer. */
  held = '';
  /** Whether results have no end. */
  isEndless = false;
  /** Batches that were created, the newest first. */
  created: Loose[] = [];
  #files = new Map<string, string>();

  static async start() {
    const provider = new RemoteProvider();
    const { url, close } = await openServer(createServer((...one) => provider.#answer(...one)));
    return Object.assign(provider, { url: `${url}/v1`, close });
  }

  reset(): void {
    Object.assign(this, { state: 'in_progress', lines: [], status: 200, held: '', created: [] });
    this.isEndless = false;
    this.seen.length = 0;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '', headers } = request;
    const bytes = await buffer(request);
    this.seen.push(`${method} ${url}`);
    const send = (body: Loose) => {
      if (this.held === `${method} ${url}`) return;
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    };
    if ((headers['x-api-key'] ?? headers.authorization) === undefined) {
      return void send(response.writeHead(401) && { error: { message: 'no key' } });
    }
    if (method === 'POST' && url === '/v1/files') {
      const form = await new Response(bytes, {
        headers: { 'content-type': headers['content-type']! },
      }).formData();
      if (form.get('purpose') !== 'batch') return void send(response.writeHead(400) && {});
      this.#files.set('file-in', await (form.get('file') as File).text());
      return void send({ id: 'file-in' });
    }
    if (method === 'GET' && url.startsWith('/v1/files/')) {
      if (this.isEndless) {
        const chunks = (function* () {
          for (;;) yield Buffer.alloc(2 ** 20, 'x');
        })();
        return void Readable.from(chunks).pipe(response);
      }
      return void send(this.#files.get(url.split('/')[3]!)!);
    }
    const isMessages = url.startsWith('/v1/messages/');
    if (url.endsWith('/results')) return void send(this.#results(isMessages).join('\n'));
    if (url.endsWith('/cancel')) this.state = isMessages ? 'ended' : 'cancelled';
    else if (method === 'POST') {
      // Requests outside of batches are refused too.
      const isBatch = url.endsWith('batches');
      if (!isBatch || this.status !== 200) return void send(response.writeHead(400) && {});
      const { requests, metadata, input_file_id: file } = JSON.parse(bytes.toString());
      const input = (this.#files.get(file) ?? '').trim().split('\n');
      this.lines = isMessages
        ? requests.map(({ custom_id, params }: Loose) => ({ custom_id, body: params }))
        : input.map((line) => JSON.parse(line));
      const counts = { request_counts: { processing: this.lines.length, succeeded: 0 } };
      this.created.unshift({
        id: `b${this.created.length + 1}`,
        ...(isMessages
          ? { ...counts, created_at: new Date().toISOString() }
          : { metadata, created_at: Math.floor(Date.now() / 1000) }),
      });
    } else if (/batches\?limit=/.test(url)) {
      // On its own page, a batch of another client.
      const other = { id: 'other', created_at: Date.now() / 1000, request_counts: { errored: 99 } };
      const isFirst = !url.includes('after');
      return void send({ data: isFirst ? [other] : this.created, has_more: isFirst });
    }
    const state = isMessages ? { processing_status: this.state } : { status: this.state };
    if (/completed|cancelled|expired/.test(this.state)) {
      this.#files.set('file-out', this.#results(false).join('\n'));
      return void send({
        ...this.created[0],
        ...state,
        output_file_id: 'file-out',
        error_file_id: null,
      });
    }
    send({ ...this.created[0], ...state });
  }

  /** Results in another order: an answer, an error for `bad`, and nothing for `slow` once the batch is cut. */
  #results(isMessages: boolean): string[] {
    return this.lines.toReversed().map(({ custom_id, body }) => {
      const { content } = body.messages[0];
      const error = { type: 'invalid_request_error', message: 'a bad word' };
      if (content === 'slow' && this.state !== 'completed') {
        const expired = { response: null, error: { code: 'batch_expired', message: 'late' } };
        return JSON.stringify({
          custom_id,
          ...(isMessages ? { result: { type: 'canceled' } } : expired),
        });
      }
      const failed = content === 'bad';
      if (isMessages) {
        const message = {
          ...{ id: 'msg_1', type: 'message', role: 'assistant', model: body.model },
          content: [{ type: 'text', text: `re: ${content}` }],
          ...{ stop_reason: 'end_turn', stop_sequence: null },
          usage: { input_tokens: 10, output_tokens: 5 },
        };
        const result = failed
          ? { type: 'errored', error: { type: 'error', error } }
          : { type: 'succeeded', message };
        return JSON.stringify({ custom_id, result });
      }
      const answer = {
        ...{ id: 'c1', object: 'chat.completion', created: 1, model: body.model },
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: `re: ${content}` },
            finish_reason: 'stop',
          },
        ],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      };
      const response = { status_code: failed ? 400 : 200, body: failed ? { error } : answer };
      return JSON.stringify({ id: 'r', custom_id, response, error: null });
    });
  }
}
