import type { Language } from '../terms.ts';

export const SPANISH: Language = {
  code: 'es',
  terms: {
    neutral:
      'ojo desnudo, pies desnudos, pie desnudo, manos desnudas, brazos desnudos, ' +
      'piernas desnudas, árbol desnudo, árboles desnudos, ramas desnudas, pared desnuda, ' +
      'paredes desnudas, verdad desnuda, topo desnudo, ratas topo desnudas, ' +
      'rata topo desnuda, labial nude, color nude, tono nude, tonos nude, esmalte nude, ' +
      'tacones nude, maquillaje nude, pecho de pollo, pechuga*, cáncer de pecho, ' +
      'cáncer de mama, fondo del mar, educación sexual, mismo sexo, del mismo sexo, ' +
      'igualdad de sexos, sexo del bebé, sexto, sexta, contra el abuso sexual, ' +
      'contra la violencia sexual, prevención del abuso sexual, niño jesús, ' +
      'la pinta y la niña, el niño la niña, fenómeno del niño',
    minor:
      'niño, niños, niñas, niñit*, niñito*, niñita*, menor de edad, menores de edad, ' +
      'bebito*, preescolar*, ~escolar, escolares, chiquillo*, chiquilla*, párvulo*, ' +
      'colegiala*, colegial, niños pequeños, crío, críos, alumno de primaria, ' +
      'alumnos de primaria, ~nena, ~nenas',
    youth:
      '~niña, ~nina, chica, chicas, chico, chicos, muchacha*, muchacho*, adolescente*, ' +
      '~bebé, bebés, jovencita*, jovencito*, quinceañera*, hija, hijas, ~hijo, ~hijos, ' +
      'nieta*, nieto, nietos, sobrina, sobrino, recién nacid*',
    girl: 'niña, niñas, nina, chica, chicas, ~nena, hija, colegiala*',
    grown: 'adulta, adulto, adultos, adultas, mayor de edad, mayores de edad',
    adult:
      'mujer, mujeres, ~hombre, hombres, señora, señor, madre, padre, mamá, papá, abuela, ' +
      'abuelo, maestra, maestro, profesora, pareja, ~padres, médico',
    pronoun: 'ella, ellas, ~ellos, ~su, ~sus',
    private:
      '~pene, genitales, genital, vulva, testículos, partes íntimas, órganos sexuales, ' +
      'pubis, partes privadas',
    area:
      'senos, ~seno, pechos, nalgas, trasero, tetas, pezones, pezón, escote, muslo, muslos, ' +
      'entrepierna, culo, glúteos',
    soft:
      '~pecho, torso, bragas, braguitas, ropa interior, tanga, calzoncillos, vientre, ' +
      'sujetador',
    exposure:
      'desnudo, desnuda, desnudos, desnudas, expuesto*, expuesta*, descubierto*, ' +
      'descubierta*, al aire, transparente*, revelador*, ~abiertas',
    emphasis:
      'primer plano, acercamiento, resaltando, énfasis, enfocado*, ajustad*, ~grandes, ' +
      'detalle de, visible, visibles',
    nudity:
      'desnudo, desnuda, desnudos, desnudas, desnudez, desnudándose, sin ropa, sin vestir, ' +
      'en cueros, topless, desvestida, desvestido, desvistiéndose, en pelotas, nudista*, ' +
      'semidesnud*, encuerad*',
    suggestive:
      'erótico*, erótica*, erotismo, sensual*, seductor*, provocativ*, lasciv*, lencería, ' +
      'sugerente*, insinuante*, en ropa interior, en bragas, en tanga',
    sexual:
      'sexo, sexual*, porno*, pornográfic*, masturb*, orgasmo*, violación, violada, violar, ' +
      'incesto, follar, follando, coito, hacer el amor, haciendo el amor',
    negation: '~sin, ~no, nada de, ningún, ninguna, ~ni, nunca, jamás',
    filler: '~de, contenido*, ~el, ~la, ~los, ~las, ~y, explícit*, escena*',
    either: '~o, ~ni',
    medical:
      'médico*, médica, pediatra*, hospital, clínica, estetoscopio, radiografía, vacuna*, ' +
      'enfermera*, cirug*, fonendoscopio',
    care: 'amamant*, lactancia, pañal*, cambiador, sarpullido, dando el pecho, da el pecho',
    newborn: 'recién nacid*, bebé',
    birth: 'nacimiento, ~parto, matrona, partera, piel con piel',
    art:
      'estatua*, escultura*, pintura*, mármol, bronce, fresco*, museo, cuadro*, querub*, ' +
      'angelote*',
    lesson: 'diagrama*, libro de texto, biología, póster',
    activity:
      'nadan*, nadar, natación, piscina, playa, mar, lago, río, bañador*, traje de baño, ' +
      'gimnasta*, ballet, judo, boxeo, lucha',
    apart: '~y, mientras, junto, cerca, delante, detrás, mira, miran, dibuj*, al lado, observa*',
    evidence:
      '~una, ~un, ~el, ~los, ~las, ~del, ~con, ~en, ~por, ~para, muy, jugando, años, ~y, ' +
      'también, sobre, está, están, mientras, desde',
  },
};
