import type { FastifyReply } from 'fastify';
import { creditsText } from '../../store/credits.ts';
import type { TextReport } from '../../text/canonical/report.ts';

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
