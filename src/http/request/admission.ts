import type { FastifyReply, FastifyRequest } from 'fastify';
import { codedFailure } from '../../failure.ts';
import type { ApiKey, Team } from '../../store/account.ts';
import { creditsText } from '../../store/credits.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { Load } from '../../text/billing/meter.ts';
import type { TextReport } from '../../text/canonical/report.ts';
import {
  type ActiveLoad,
  inputExceeds,
  type LoadLimit,
  type LoadLimits,
} from '../limits/load-limits.ts';
import type { AppContext } from './app-context.ts';

/** The header that names the limit of a key or a team which a request exceeds: `key tpm`, `team parallel`. */
const LIMIT_HEADER = 'x-oriel-limit';

/** Counts a request by the limits of its key and its team. */
export interface Admission {
  /** Begins the request. @throws Failure rate_limit */
  admit(load: Load): Promise<void>;
  /** Ends the request, with the tokens that it has used. */
  end(used: number): void;
}

/** The limits of a key and of its team, where they have any. */
function limitsOf({ key, team }: KeyHolder): LoadLimit[] {
  const limitOf = (
    holder: LoadLimit['holder'],
    { id, tpm = null, parallel = null }: ApiKey | Team,
  ): LoadLimit[] => (tpm === null && parallel === null ? [] : [{ id, holder, tpm, parallel }]);
  return [...limitOf('key', key), ...(team ? limitOf('team', team) : [])];
}

function endAll(active: ActiveLoad[], used: number): void {
  for (const one of active.splice(0)) one.end(Math.ceil(used));
}

/** Half of a limit, which the requests of batches leave to others. */
export const halfOf = (limit: number | null, least: number) =>
  limit === null ? null : Math.max(least, Math.floor(limit / 2));

/** Counts a request without a client by the limits of its key and its team, of which one of a batch may use half. */
export async function admitInBackground(
  loads: LoadLimits,
  holder: KeyHolder,
  load: Load,
  partOf = (limit: number | null, _least: number) => limit,
): Promise<Pick<Admission, 'end'>> {
  const active: ActiveLoad[] = [];
  try {
    for (const limit of limitsOf(holder)) {
      if (limit.tpm !== null && load.input > limit.tpm) {
        const message = inputExceeds(limit, load);
        throw codedFailure('context_length_exceeded', message);
      }
      // More than half where one request has as many tokens.
      const tpm = partOf(limit.tpm, load.input);
      active.push(await loads.begin({ ...limit, tpm, parallel: partOf(limit.parallel, 1) }, load));
    }
  } catch (error) {
    endAll(active, 0);
    throw error;
  }
  return { end: (used) => endAll(active, used) };
}

/** Null where neither the key nor its team has a limit. */
export function admissionOf(
  { holder }: FastifyRequest,
  reply: FastifyReply,
  { limits: { loads } }: AppContext,
): Admission | null {
  const held = limitsOf(holder);
  if (held.length === 0) return null;
  const active: ActiveLoad[] = [];
  return {
    async admit(load) {
      // A client that has left frees its part of the limit, although its answer is read on.
      reply.raw.once('close', () => {
        for (const one of active) one.leave();
      });
      for (const limit of held) {
        const one = await begun(limit, load);
        active.push(one);
        if (limit.tpm !== null && !reply.hasHeader('x-ratelimit-limit-tokens')) {
          reply.header('x-ratelimit-limit-tokens', limit.tpm);
          reply.header('x-ratelimit-remaining-tokens', one.remaining);
        }
      }
    },
    end: (used) => endAll(active, used),
  };

  async function begun(limit: LoadLimit, load: Load): Promise<ActiveLoad> {
    try {
      return await loads.begin(limit, load);
    } catch (error) {
      const { param } = error as { readonly param?: string };
      reply.header(LIMIT_HEADER, `${limit.holder} ${param}`);
      throw error;
    }
  }
}

/** Runs work without tokens, such as a transcription, as one of the requests at once. */
export async function whileAdmitted<Result>(
  [request, reply, context]: Readonly<Parameters<typeof admissionOf>>,
  work: () => Promise<Result>,
): Promise<Result> {
  const admission = admissionOf(request, reply, context);
  try {
    await admission?.admit({ input: 0, output: 0 });
    return await work();
  } finally {
    admission?.end(0);
  }
}

/** The header with the credits that an answer was charged, as a decimal. */
const COST_HEADER = 'x-oriel-cost';

/** @param charge micro-credits */
export function showCredits(reply: FastifyReply, charge: number): void {
  reply.header(COST_HEADER, creditsText(charge));
}

/** Shows what a request for text or embeddings was charged, once it was metered. */
export function showCost(reply: FastifyReply, { usage, charge }: TextReport): void {
  if (usage !== null) showCredits(reply, charge);
}
