import { expect, it } from 'vitest';
import { callsOf, textOf } from '../../../src/console/views/chat/formats/answer.ts';
import {
  type AnswerTurn,
  type FormatName,
  NEW_SETTINGS,
  newAnswer,
  type Settings,
  type Turn,
} from '../../../src/console/views/chat/formats/conversation.ts';
import { FORMAT_NAMES, FORMATS } from '../../../src/console/views/chat/formats/formats.ts';
import { NEW_TOOL } from '../../../src/console/views/chat/validation.ts';
import { sharedDaemon } from '../../daemon.ts';
import { modelWith, reasoningWith } from '../model.ts';
import { fold } from './fold.ts';

const daemon = sharedDaemon();

const MODEL = modelWith({
  id: 'sandbox-chat',
  type: 'text',
  limits: { max_output_tokens: 16_384 },
  ...reasoningWith(['none', 'low']),
});

const SETTINGS: Settings = {
  ...NEW_SETTINGS,
  model: MODEL.id,
  system: 'Be brief.',
  temperature: '0.5',
  maxTokens: '900',
  effort: 'low',
  tools: [{ ...NEW_TOOL, id: '1' }],
};

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const ASKED: Turn = {
  id: 1,
  type: 'user',
  text: 'sandbox:call get_weather {"city": "Bern"}\nsandbox:call get_weather {"city": "Rome"}',
  pictures: [{ name: 'pixel.png', url: PIXEL, note: '' }],
};

async function ask(format: FormatName, turns: readonly Turn[]): Promise<AnswerTurn> {
  const settings = { ...SETTINGS, format };
  const { path, bodyOf } = FORMATS[format];
  const body = bodyOf({ settings, turns }, MODEL);
  const response = await daemon().send(path, body);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  expect(response.headers.get('x-oriel-ignored')).toBeNull();
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data!);
  const { answer, replay } = fold(format, events);
  expect(answer).toMatchObject({ isComplete: true, error: null });
  return { ...newAnswer(turns.length + 1, settings, body), answer, replay };
}

it.each(FORMAT_NAMES.flatMap((first) => FORMAT_NAMES.map((second) => [first, second] as const)))(
  'the server accepts a conversation with images, reasoning and calls that goes on from %s in %s',
  async (first, second) => {
    const turns: Turn[] = [ASKED];
    for (const [format, result] of [
      [first, 'sunny-in-bern'],
      [second, 'rainy-in-rome'],
    ] as const) {
      const turn = await ask(format, turns);
      expect(callsOf(turn.answer)).toHaveLength(1);
      expect(turn.answer.stop).toBe('calls');
      expect(turn.answer.parts[0]).toMatchObject({ type: 'reasoning' });
      turns.push({ ...turn, results: [result] });
    }
    const last = await ask(second, turns);
    expect(textOf(last.answer)).toContain('rainy-in-rome');
    expect(last.answer.usage!.reasoning).toBeGreaterThan(0);
  },
);
