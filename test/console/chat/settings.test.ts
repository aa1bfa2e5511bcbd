import { describe, expect, it } from 'vitest';
import { KeptEvents, withoutPictures } from '../../../src/console/views/chat/events-kept.ts';
import { NEW_SETTINGS, type Tool } from '../../../src/console/views/chat/formats/conversation.ts';
import { effortsOf } from '../../../src/console/views/chat/formats/format.ts';
import { FORMATS } from '../../../src/console/views/chat/formats/formats.ts';
import { NEW_TOOL, settingsFaults } from '../../../src/console/views/chat/validation.ts';
import { reasoningWith } from '../model.ts';

const tool = (change: Partial<Tool> = {}): Tool => ({ ...NEW_TOOL, id: '1', ...change });

describe('settings of a conversation', () => {
  it('accept numbers in the range of the format, and no number', () => {
    const faults = (temperature: string, maxTokens: string) => {
      const settings = { ...NEW_SETTINGS, temperature, maxTokens };
      return [settingsFaults(settings, FORMATS.chat), settingsFaults(settings, FORMATS.messages)];
    };
    expect(faults('', '').map(({ areNone }) => areNone)).toEqual([true, true]);
    expect(faults('1.5', '7').map(({ areNone }) => areNone)).toEqual([true, false]);
    for (const wrong of ['-1', '2.1', 'warm', 'NaN', '1,5']) {
      expect(faults(wrong, '')[0]!.temperature).toMatch(/from 0 to 2/);
    }
    for (const wrong of ['0', '-1', '1.5', 'many', '1e99']) {
      expect(faults('', wrong)[0]!.maxTokens).toMatch(/whole number/);
    }
  });

  it('accept tools with a name of their own and a schema of an object', () => {
    const faults = (...tools: Tool[]) =>
      settingsFaults({ ...NEW_SETTINGS, tools }, FORMATS.chat).tools.get('1')!;
    expect(faults(tool())).toEqual({});
    expect(faults(tool(), tool({ id: '2' })).name).toMatch(/Another tool/);
    for (const name of ['', 'a b', 'é', 'a'.repeat(65)]) {
      expect(faults(tool({ name })).name).toMatch(/letters/);
    }
    expect(faults(tool({ parameters: '{' })).parameters).toMatch(/not JSON/);
    for (const parameters of ['[]', '7', 'null', '{}', '{"type":"string"}']) {
      expect(faults(tool({ parameters })).parameters).toMatch(/object/);
    }
  });

  it('offer the efforts of the model that the format has', () => {
    const model = reasoningWith(['none', 'minimal', 'high']);
    expect(effortsOf(model, FORMATS.responses)).toEqual(['none', 'minimal', 'high']);
    expect(effortsOf(model, FORMATS.messages)).toEqual(['none', 'high']);
    expect(effortsOf(reasoningWith([]), FORMATS.chat)).toEqual([]);
  });
});

describe('what the inspector keeps', () => {
  it('has the first and the last events, counts the others, and shortens long ones', () => {
    const events = new KeptEvents();
    for (let at = 0; at < 1000; at += 1) events.add({ event: 'message', data: String(at) }, at);
    events.add({ event: 'message', data: 'x'.repeat(1e6) }, 1000);
    const { events: kept, eventsOmitted } = events.kept;
    expect(kept.length + eventsOmitted).toBe(1001);
    expect(kept.length).toBeLessThanOrEqual(300);
    expect(kept[0]!.data).toBe('0');
    expect(kept.at(-2)!.data).toBe('999');
    expect(kept.at(-1)!.data.length).toBeLessThan(3000);
  });

  it('has no bytes of pictures, and every other text as it is', () => {
    const bytes = 'QUJD'.repeat(1000);
    const text = 'word '.repeat(1000);
    const url = `data:image/png;base64,${bytes}`;
    const kept = withoutPictures({ text, url, list: [{ data: bytes, none: null, count: 7 }] });
    expect(kept).toMatchObject({ text, list: [{ none: null, count: 7 }] });
    expect(JSON.stringify(kept).length).toBeLessThan(text.length + 300);
  });
});
