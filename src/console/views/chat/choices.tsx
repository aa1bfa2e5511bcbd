import { useEffect } from 'preact/hooks';
import { useAccount } from '../../api/account.ts';
import type { Model } from '../../api/models.ts';
import { SelectField } from '../../components/field.tsx';
import { formatCredits } from '../../components/format.ts';
import type { FormatName, Settings } from './formats/conversation.ts';
import { effortsOf } from './formats/format.ts';
import { FORMAT_NAMES, FORMATS } from './formats/formats.ts';
import { SettingsPanel } from './settings.tsx';

interface ChoicesProps {
  readonly settings: Settings;
  readonly models: readonly Model[];
  /** The model of the settings; another one if the key has no such model. */
  readonly model: Model;
  /** Answers that are complete: each has been charged. */
  readonly answers: number;
  /** Whether the window has space for the settings. */
  readonly isWide: boolean;
  readonly onChange: (change: Partial<Settings>) => void;
}

/** Model, format and settings of the conversation. */
export function Choices({ settings, models, model, answers, isWide, onChange }: ChoicesProps) {
  const account = useAccount([answers]);
  const isUnknown = settings.model !== '' && model.id !== settings.model;
  useEffect(() => {
    if (settings.model === '') onChange({ model: model.id });
  }, [settings.model]);
  useEffect(() => {
    const isOffered = effortsOf(model, FORMATS[settings.format]).includes(settings.effort);
    if (settings.effort !== '' && !isOffered && !isUnknown) onChange({ effort: '' });
  }, [model.id, settings.format]);
  const panel = (
    <div class="stack">
      <SettingsPanel {...{ settings, model, onChange }} />
      {account.data && (
        <p class="hint">Credits left: {formatCredits(account.data.credits.available)}</p>
      )}
    </div>
  );
  return (
    <div class="choices">
      <SelectField
        label="Model"
        value={settings.model}
        error={isUnknown ? `This key has no model “${settings.model}”.` : undefined}
        choices={[
          ...(isUnknown ? [[settings.model, settings.model] as const] : []),
          ...models.map(
            ({ id, name }) => [id, name && name !== id ? `${name} (${id})` : id] as const,
          ),
        ]}
        onValue={(id) => onChange({ model: id })}
      />
      <SelectField
        label="API format"
        value={settings.format}
        choices={FORMAT_NAMES.map((name) => [name, FORMATS[name].label] as const)}
        onValue={(format) => onChange({ format: format as FormatName })}
      />
      {isWide ? (
        panel
      ) : (
        <details class="more">
          <summary>Settings and tools</summary>
          {panel}
        </details>
      )}
    </div>
  );
}
