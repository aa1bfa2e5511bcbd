import { type AnswerTurn, awaitsResults, type Settings } from '../conversation.ts';
import { callsOf, type ToolCall } from './answer.ts';

/** Calls that a request sends back: those of a broken answer have no whole arguments. */
export function sentCalls(turn: AnswerTurn): readonly ToolCall[] {
  return awaitsResults(turn) ? callsOf(turn.answer) : [];
}

export function resultOf({ results }: AnswerTurn, index: number): string {
  return results[index] ?? '';
}

function numberOf(typed: string): number | null {
  return typed.trim() === '' ? null : Number(typed);
}

/** Settings with the values that a request has; null for the model's default. */
export function settingsOf({ model, system, temperature, maxTokens, effort }: Settings) {
  return {
    model,
    system,
    temperature: numberOf(temperature),
    maxTokens: numberOf(maxTokens),
    effort: effort === '' ? null : effort,
  };
}
