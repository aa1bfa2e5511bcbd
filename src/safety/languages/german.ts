import type { Language } from '../terms.ts';

export const GERMAN: Language = {
  code: 'de',
  terms: {
    neutral:
      'nacktschneck*, nacktmull*, nacktkatze*, nacktsamig*, nackte füße*, nackten füßen, ' +
      'nackter fuß, nackte wand, nackte wände, nackten wänden, nackte bäume, nackten bäumen, ' +
      'nackte äste*, nackten ästen, nackten baum, nackten beton*, nackter beton*, nackte beton*, nackte glühbirne, ' +
      'nackten beinen, nackte beine, nackten armen, nackte arme, nackten zehen, ' +
      'nackten händen, nackte wahrheit, nackten fels*, nackte erde, nackter erde, ' +
      'bloßem auge, nackten auge, nacktem auge, hähnchenbrust*, hühnerbrust*, entenbrust, ' +
      'putenbrust, brustkrebs*, brustschwimm*, brusttasche*, brustkorb, brustbeutel, ' +
      'brustbild, nude töne*, nude farb*, nudefarb*, nude lippenstift, nude nagellack, ' +
      'nudelholz, nudel, nudeln, nudelsuppe, sexualkunde*, sexualerziehung, sexualpädagog*, sexualaufklärung*, ' +
      'aufklärungsunterricht, junge frau, junge frauen, jungen frau, jungen frauen, ' +
      'junger mann, jungen mann, junge männer, jungen männern, junges paar, junge katze*, ' +
      'junge hunde, junge bäume, junge pflanzen, gegen sexuellen missbrauch, ' +
      'gegen missbrauch, gegen kindesmissbrauch',
    minor:
      'kinder, kindern, ~kind, kindes, kindlich*, kleinkind*, schulkind*, schulmädchen, ' +
      'schuljunge*, säugling*, minderjährig*, vorschulkind*, grundschüler*, ' +
      'kindergartenkind*, kleines mädchen, kleinen mädchens, kleine mädchen, kleiner junge, ' +
      'kleinen jungen, enkelkind*, kindergarten, erstklässler*',
    youth:
      'mädchen, mädchens, ~junge, ~jungen, ~jungs, ~bub, buben, teenagerin*, jugendlich*, ' +
      'tochter, töchter, ~sohn, söhne, neugeborene*, enkelin, enkel, schülerin*, schüler, ' +
      'nichte, neffe, babys',
    girl: 'mädchen*, tochter, schülerin*',
    grown: 'erwachsen*, volljährig*',
    adult:
      '~frau, frauen, ~mann, männer, dame, damen, mutter, vater, eltern, lehrerin*, lehrer, ' +
      'künstler*, braut, bräutigam, ärztin, paar',
    pronoun: '~sie, ~ihr, ~ihre, ~ihrem, ~er, ~sein, ~seine',
    private: 'genitalien, ~scheide, schamlippe*, hoden, geschlechtsteil*, intimbereich*',
    area:
      '~brust, brüste, brüsten, busen, gesäß, hintern, ~popo, oberschenkel*, dekolleté, ' +
      'brustwarze*, nippel, höschen',
    soft: 'oberkörper, unterwäsche, ~slip, unterhose*, ~tanga',
    exposure:
      'nackt*, entblößt*, entblöß*, unbedeckt*, freiliegend*, durchsichtig*, gespreizt*, ' +
      'bloß, bloßem, bloßen',
    emphasis:
      'nahaufnahme, großaufnahme, betont*, betonung, ~große, ~großen, pralle*, ' + 'eng anliegend*',
    nudity:
      'nackt*, hüllenlos, unbekleidet*, entkleidet*, oben ohne, unten ohne, ohne kleidung, ' +
      'ohne kleider, textilfrei, fkk, splitternackt*, halbnackt*, aktfoto*, barbusig*, ' +
      'aktmodell*',
    suggestive:
      'erotisch*, erotik, sinnlich*, verführerisch*, lasziv*, reizwäsche, dessous, ' +
      'aufreizend*, freizügig*, in unterwäsche',
    sexual:
      'sexuell*, geschlechtsverkehr, onanier*, masturbier*, vergewaltig*, ficken, fickt, ' +
      'inzest',
    negation: 'kein, keine, keinen, keinerlei, ohne, nicht, ~nie',
    filler: 'jegliche*, ~die, ~der, ~das, ~und, irgendwelche*, darstellung*, inhalt*, explizit*',
    either: 'oder, ~noch',
    medical:
      'ärztin, kinderarzt*, kinderärztin, arzt, krankenhaus, klinik, stethoskop, röntgen*, ' +
      'impf*, operation, untersuchung',
    care: 'stillt, stillen, stillend*, gestillt, windel*, wickeltisch, wickelt, hautausschlag',
    newborn: 'neugeborene*, säugling*',
    birth: 'geburt, hebamme, entbindung',
    art: 'statue*, skulptur*, gemälde, marmor*, bronze*, fresko, museum, putten, aktzeichn*',
    lesson: 'schaubild, lehrbuch, biologie*',
    activity:
      'schwimm*, freibad, strand, ~see, ~meer, badehose*, planschbecken, turnen, boxen, ' +
      'ringen',
    apart: 'und, während, neben, ~vor, hinter, ~bei, ~als, betracht*, zeichn*',
    evidence:
      'eine, einem, einen, einer, eines, und, mit, auf, dem, ist, neben, zwei, für, beim, ' +
      'zum, zur, durch, über, aus, kleines, kleine, kleiner',
  },
};
