import { expect, it } from 'vitest';
import { providerOf } from '../../../src/media/providers/providers.ts';

it.each(['openai', 'oriel', 'sandbox'] as const)(
  'providerOf returns a provider for the kind %s',
  (kind) => {
    expect(Object.keys(providerOf(kind)).sort()).toEqual([
      'makeAudio',
      'makeImages',
      'makeVideo',
      'moderate',
      'transcribe',
    ]);
  },
);

it('providerOf throws for the kind anthropic', () => {
  expect(() => providerOf('anthropic')).toThrow('The provider makes no media');
});
