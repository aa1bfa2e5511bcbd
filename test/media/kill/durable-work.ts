import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { AuditedService } from './service.ts';
import { jsonOf } from './victim.ts';

/** Requests of a batch. */
const LINES = 4;

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
type Loose = any;

interface DurableOptions {
  readonly service: AuditedService;
  readonly url: string;
  readonly key: string;
  /** A model of the sandbox whose tokens cost a micro-credit each. */
  readonly model: string;
}

/** Responses in the background, batches and answers on sockets, through faults, without repeating any of them. */
export class DurableWork {
  readonly #options: DurableOptions;
  readonly #responses: string[] = [];
  readonly #batches: string[] = [];
  /** Answers on sockets that came whole, and tokens of all answers. */
  answers = 0;
  #charged = 0;
  #dearest = 0;
  /** Answers of requests whose acknowledgement was lost: the service may have charged for them. */
  uncertain = 0;

  constructor(options: DurableOptions) {
    this.#options = options;
  }

  get counts() {
    const [responses, batches] = [this.#responses.length, this.#batches.length];
    return { responses, batches, answers: this.answers, uncertain: this.uncertain };
  }

  /** Files that it has uploaded and that batches have written. */
  get files(): number {
    return this.#batches.length * 2;
  }

  /** @param isOver asked once there is some of each */
  async run(isOver: () => boolean): Promise<void> {
    const kinds = [() => this.#respond(), () => this.#batch(), () => this.#talk()];
    const least = () => Math.min(this.answers, this.#responses.length, this.#batches.length);
    for (let index = 0; !isOver() || least() < 3; index += 1) {
      await kinds[index % kinds.length]!();
      await delay(30);
    }
  }

  /**
   * @param charges how many the request leads to
   * @returns null where the answer was lost, or is none
   */
  async #post(path: string, body: object | FormData, charges: number): Promise<Loose> {
    const { url, key } = this.#options;
    const isForm = body instanceof FormData;
    try {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          ...(!isForm && { 'content-type': 'application/json' }),
        },
        body: isForm ? body : JSON.stringify(body),
      });
      if (response.status === 200) return await response.json();
      // 502 and 504 are the proxy's: the node behind it has died.
      if ([502, 504].includes(response.status)) this.uncertain += charges;
    } catch (error) {
      const isSent = (error as Loose).cause?.code !== 'ECONNREFUSED';
      if (isSent) this.uncertain += charges;
    }
    return null;
  }

  #body(): object {
    return { model: this.#options.model, max_output_tokens: 64 };
  }

  async #respond(): Promise<void> {
    const body = { ...this.#body(), input: 'How deep is the harbour?', background: true };
    const queued = await this.#post('/v1/responses', body, 1);
    if (queued !== null) this.#responses.push(queued.id);
  }

  async #batch(): Promise<void> {
    const lines = Array.from({ length: LINES }, (_, index) => {
      const body = { ...this.#body(), input: `Line ${index}` };
      return JSON.stringify({ custom_id: `${index}`, method: 'POST', url: '/v1/responses', body });
    });
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new File([lines.join('\n')], 'lines.jsonl'));
    const file = await this.#post('/v1/files', form, 0);
    if (file === null) return;
    const asked = { input_file_id: file.id, endpoint: '/v1/responses', completion_window: '24h' };
    const batch = await this.#post('/v1/batches', asked, LINES);
    if (batch !== null) this.#batches.push(batch.id);
  }

  async #talk(): Promise<void> {
    const { url, key } = this.#options;
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { headers });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    try {
      const opened = once(socket, 'open');
      await Promise.race([opened, closed.then(() => Promise.reject(new Error('closed')))]);
    } catch {
      return;
    }
    const ended = new Promise<Loose>((resolve) => {
      socket.on('message', (data) => {
        const event: Loose = JSON.parse(String(data));
        if (/^(?:response\.completed|error|response\.failed)$/.test(event.type)) resolve(event);
      });
      void closed.then(() => resolve(null));
    });
    socket.on('error', () => {});
    const input = 'How deep is the harbour?';
    socket.send(JSON.stringify({ type: 'response.create', ...this.#body(), input }));
    const event = await ended;
    socket.terminate();
    if (event?.type === 'response.completed') {
      this.answers += 1;
      this.#count(event.response.usage.total_tokens);
    } else this.uncertain += 1;
  }

  #count(tokens: number): void {
    this.#charged += tokens;
    this.#dearest = Math.max(this.#dearest, tokens);
  }

  /** Asks until an answer has ended. */
  async #ended(path: string, states: RegExp): Promise<Loose> {
    const { service, key } = this.#options;
    for (;;) {
      const answer = jsonOf<Loose>(await service.ask(path, key));
      if (!states.test(answer.status)) return answer;
      await delay(100);
    }
  }

  /** What came of all that was acknowledged: one answer of each, each line once, and one charge for each. */
  async faults(): Promise<string[]> {
    const { service, key } = this.#options;
    const faults: string[] = [];
    for (const id of this.#responses) {
      const { status, error, usage } = await this.#ended(`/v1/responses/${id}`, /queued|progress/);
      // After a third interruption.
      const isGivenUp = status === 'failed' && /interrupted/.test(error?.message);
      if (status === 'completed') this.#count(usage.total_tokens);
      else if (!isGivenUp) faults.push(`${id} is ${status}: ${error?.message}`);
    }
    for (const id of this.#batches) {
      const batch = await this.#ended(`/v1/batches/${id}`, /in_progress|finalizing|validating/);
      const { status, output_file_id: file } = batch;
      const { bytes } = await service.ask(`/v1/files/${file}/content`, key);
      const lines = bytes.toString().trim().split('\n');
      const results: Loose[] = lines.map((line) => JSON.parse(line));
      const ids = results.map(({ custom_id }) => custom_id).sort();
      if (status !== 'completed' || `${ids}` !== '0,1,2,3') faults.push(`${id} has ${ids}`);
      for (const { response } of results) this.#count(response.body.usage.total_tokens);
    }
    const most = this.#charged + this.uncertain * this.#dearest;
    for (let spent = -1; ; ) {
      const { credits } = jsonOf<Loose>(await service.ask('/v1/account', key));
      const now = Math.round(credits.spent * 1e6);
      // Nodes book charges some time after their answers.
      if (now === spent && credits.reserved === 0) {
        if (now >= this.#charged && now <= most) return faults;
        return [...faults, `spent is ${now}, expected ${this.#charged} to ${most}`];
      }
      spent = now;
      await delay(1000);
    }
  }
}
