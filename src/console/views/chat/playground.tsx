import { useEffect, useRef, useState } from 'preact/hooks';
import type { Model } from '../../api/resource.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Composer } from './composer.tsx';
import type { AnswerTurn, Settings } from './formats/conversation.ts';
import { FORMATS } from './formats/formats.ts';
import { Exchange, Inspector } from './inspector.tsx';
import { Choices } from './settings.tsx';
import type { ChatStore } from './store.ts';
import { Turns } from './turns.tsx';
import { settingsFaults } from './validation.ts';

const WIDE = matchMedia('(min-width: 64rem)');

interface PlaygroundProps {
  readonly chat: ChatStore;
  readonly models: readonly Model[];
}

/** A conversation with its settings, and the requests of its answers. */
export function Playground({ chat, models }: PlaygroundProps) {
  const { settings, turns } = chat.state;
  const [inspected, onInspect] = useState<number | null>(null);
  const isWide = useMatch(WIDE);
  const field = useRef<HTMLTextAreaElement>(null);
  const model = models.find(({ id }) => id === settings.model) ?? models[0]!;
  const obstacle = obstacleOf(settings, model);
  const isBlocked = chat.isStreaming || obstacle !== null;
  const talk = { chat, model, obstacle, isBlocked, field, inspected, onInspect };
  const shown = turns.find((turn): turn is AnswerTurn => turn.id === inspected);
  return (
    <div class="stack chat">
      <Choices {...{ chat, models, model, isWide }} />
      <section class="stack talk" aria-label="Conversation">
        <Turns talk={talk} />
        {!chat.isKept && (
          <p class="notice warn">
            This conversation is too large to be kept: it is lost if the page is reloaded.
          </p>
        )}
        <Composer talk={talk} />
      </section>
      {shown &&
        (isWide ? (
          <Inspector turn={shown} onClose={() => onInspect(null)} />
        ) : (
          <Dialog title="Request and events" onClose={() => onInspect(null)}>
            <Exchange turn={shown} />
          </Dialog>
        ))}
    </div>
  );
}

/** Why nothing can be sent; null if it can. */
function obstacleOf(settings: Settings, model: Model): string | null {
  if (settings.model !== '' && model.id !== settings.model) return 'Choose a model first.';
  return settingsFaults(settings, FORMATS[settings.format]).areNone
    ? null
    : 'Correct the settings first.';
}

function useMatch(query: MediaQueryList): boolean {
  const [matches, setMatches] = useState(query.matches);
  useEffect(() => {
    const listener = () => setMatches(query.matches);
    query.addEventListener('change', listener);
    return () => query.removeEventListener('change', listener);
  }, [query]);
  return matches;
}
