import { setTimeout as delay } from 'node:timers/promises';
import type { AuditedService } from '../media/kill/service.ts';
import { jsonOf } from '../media/kill/victim.ts';

/** A model of the sandbox whose answers cost a micro-credit a token. */
export const TEXT_MODEL = {
  type: 'text',
  routes: [{ provider: 'sandbox', model: 'chat' }],
  price: { input: 1, output: 1 },
};

interface TextClientOptions {
  /** Address in front of the nodes. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

interface Usage {
  readonly total_tokens: number;
}

/** Sends text requests through faults, without repeating any, and adds up what each answer says it cost. */
export class TextClient {
  readonly #options: TextClientOptions;
  /** Answers that came whole, and their micro-credits. */
  answered = 0;
  charged = 0;
  /** Requests whose answer was lost or is a proxy's: the service may have charged for them. */
  uncertain = 0;
  /** Micro-credits of the most expensive answer. */
  dearest = 0;
  readonly statuses = new Map<number, number>();

  constructor(options: TextClientOptions) {
    this.#options = options;
  }

  /** Sends requests one after the other, about twenty a second. */
  async run(isOver: () => boolean): Promise<void> {
    for (let index = 0; !isOver(); index += 1) {
      await this.#ask(index % 3 === 0);
      await delay(50);
    }
  }

  async #ask(stream: boolean): Promise<void> {
    const { url, key, model } = this.#options;
    try {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model,
          messages: [{ role: 'user', content: 'How deep is the harbour?' }],
          max_tokens: 64,
          ...(stream && { stream, stream_options: { include_usage: true } }),
        }),
      });
      const text = await response.text();
      this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1);
      if (response.status === 200) this.#count(stream ? streamedUsage(text) : usageOf(text));
      else {
        if (response.status !== 503 && response.status !== 429) this.uncertain += 1;
        await delay(20);
      }
    } catch {
      this.uncertain += 1;
      await delay(20);
    }
  }

  #count({ total_tokens }: Usage): void {
    this.answered += 1;
    this.charged += total_tokens;
    this.dearest = Math.max(this.dearest, total_tokens);
  }

  /** What the service says of the account, against the answers. */
  async faults(service: AuditedService): Promise<string[]> {
    const { key } = this.#options;
    const answer = await service.ask('/v1/account', key);
    const { credits } = jsonOf<{ credits: { spent: number; reserved: number } }>(answer);
    const spent = Math.round(credits.spent * 1e6);
    const most = this.charged + this.uncertain * this.dearest;
    const faults: string[] = [];
    if (spent < this.charged || spent > most) {
      faults.push(`spent is ${spent}, expected ${this.charged} to ${most}`);
    }
    if (credits.reserved !== 0) faults.push(`${credits.reserved} credits are still reserved`);
    return faults;
  }
}

const usageOf = (text: string): Usage => (JSON.parse(text) as { usage: Usage }).usage;

/** @throws Error where the stream was cut before its usage */
function streamedUsage(text: string): Usage {
  const last = text.split('\n').findLast((line) => line.includes('"total_tokens"'));
  if (last === undefined || !text.includes('[DONE]')) throw new Error('a stream was cut');
  return usageOf(last.slice('data: '.length));
}
