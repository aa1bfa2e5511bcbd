import { checkedBody } from '../../../schema/body.ts';
import type { Json, TextRequest } from '../../canonical/canonical.ts';
import type { RequestAddress } from '../endpoint.ts';
import type { Findings } from '../native-parts.ts';
import { invalid } from '../request-errors.ts';
import { collectAll, settingsOf, toolsOf } from './decode-settings.ts';
import { decodeTurns } from './decode-turns.ts';
import { inCamelCase } from './field-names.ts';
import { fields, type GeminiRequest } from './fields.ts';

/** @throws Failure invalid_request, `param` naming the field by its path */
export function decodeRequest(value: unknown, address?: RequestAddress): TextRequest {
  const body: GeminiRequest = checkedBody(fields.schema, inCamelCase(value));
  const stream = address?.stream === true;
  if (stream && (body.generationConfig?.candidateCount ?? 1) > 1) {
    throw invalid(
      'generationConfig.candidateCount',
      'streams have one candidate: use generateContent for several',
    );
  }
  const findings: Findings = { native: [], advice: [] };
  collectAll(body, findings);
  return Object.assign(settingsOf(body), {
    dialect: 'gemini' as const,
    body: body as Json,
    model: address?.model ?? '',
    stream,
    includeUsage: true,
    turns: decodeTurns(body),
    tools: toolsOf(body),
    ...findings,
  });
}
