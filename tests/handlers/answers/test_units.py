"""A unit is the same one spelled out and abbreviated, and its factor is exact."""

from __future__ import annotations

from fractions import Fraction

import pytest

from handlers.answers.units import UNIT_CHARS, Dimension, named, others, unit


@pytest.mark.parametrize(("long", "short"), [("kilometers", "km"), ("milligrams", "mg")])
def test_prefixes_are_read_in_words_too(long: str, short: str) -> None:
    found = unit(long)
    assert found is not None
    assert found == unit(short)
    assert found != unit(short[1:]), "a prefix is a factor"


def of(**powers: int) -> Dimension:
    return tuple(sorted(powers.items()))


ENERGY, POWER = of(length=2, mass=1, time=-2), of(length=2, mass=1, time=-3)
PRESSURE, FORCE = of(length=-1, mass=1, time=-2), of(length=1, mass=1, time=-2)


@pytest.mark.parametrize(
    ("spellings", "dimension", "factor"),
    [
        ("s sec second seconds", of(time=1), "1"),
        ("min minutes", of(time=1), "60"),
        ("h hr hrs hours h.", of(time=1), "3600"),
        ("day days", of(time=1), "86400"),
        ("wk weeks", of(time=1), "604800"),
        ("month months", of(month=1), "1"),
        ("yr years", of(month=1), "12"),
        ("decades", of(month=1), "120"),
        ("century centuries", of(month=1), "1200"),
        ("ns nanosecond", of(time=1), "1/1000000000"),
        ("m metre meters", of(length=1), "1"),
        ("μm µm um micrometre", of(length=1), "1/1000000"),
        ("pm", of(length=1), "1/1000000000000"),
        ("dm decimetres", of(length=1), "1/10"),
        ("cm", of(length=1), "1/100"),
        ("Mm megametre", of(length=1), "1000000"),
        ("in inch inches", of(length=1), "127/5000"),
        ("ft foot feet", of(length=1), "381/1250"),
        ("yd yards", of(length=1), "1143/1250"),
        ("mi mile miles", of(length=1), "201168/125"),
        ("ha hectare", of(length=2), "10000"),
        ("acres", of(length=2), "316160658/78125"),
        ("l L litre liters", of(length=3), "1/1000"),
        ("ml mL", of(length=3), "1/1000000"),
        ("gal gallons", of(gallon=1), "1"),
        ("qt quart", of(gallon=1), "1/4"),
        ("pt pints", of(gallon=1), "1/8"),
        ("g gram", of(mass=1), "1"),
        ("kg kilograms", of(mass=1), "1000"),
        ("t tonnes", of(mass=1), "1000000"),
        ("lb lbs pound pounds", of(mass=1), "45359237/100000"),
        ("oz ounces", of(mass=1), "45359237/1600000"),
        ("mph", of(length=1, time=-1), "1397/3125"),
        ("kmh kph km/h", of(length=1, time=-1), "5/18"),
        ("kn knots", of(length=1, time=-1), "463/900"),
        ("N newtons", FORCE, "1000"),
        ("J joule N*m N·m N.m", ENERGY, "1000"),
        ("kcal", ENERGY, "4184000"),
        ("kWh", ENERGY, "3600000000"),
        ("MW", POWER, "1000000000"),
        ("Pa pascals", PRESSURE, "1000"),
        ("GPa", PRESSURE, "1000000000000"),
        ("mbar", PRESSURE, "100000"),
        ("atm atmospheres", PRESSURE, "101325000"),
        ("mA milliamps", of(current=1), "1/1000"),
        ("V volts", of(voltage=1), "1"),
        ("kΩ", of(resistance=1), "1000"),
        ("kHz", of(time=-1), "1000"),
        ("mol moles", of(amount=1), "1"),
        ("K kelvin", of(kelvin=1), "1"),
        ("C celsius", of(celsius=1), "1"),
        ("F fahrenheit", of(fahrenheit=1), "1"),
        ("deg degrees", of(degree=1), "1"),
        ("rad radians", of(radian=1), "1"),
        ("USD dollars", of(dollar=1), "1"),
        ("cent cents", of(dollar=1), "1/100"),
        ("EUR euros", of(euro=1), "1"),
    ],
)
def test_what_units_are_called_and_how_much_they_are(
    spellings: str, dimension: Dimension, factor: str
) -> None:
    for spelling in spellings.split():
        found = unit(spelling)
        assert found is not None, spelling
        assert (found.dimension, found.factor) == (dimension, Fraction(factor)), spelling


@pytest.mark.parametrize(
    ("text", "dimension", "factor"),
    [
        ("cm^2", of(length=2), "1/10000"),
        ("cm^{2}", of(length=2), "1/10000"),
        ("m2", of(length=2), "1"),
        ("s^-1", of(time=-1), "1"),
        ("mm^{-1}", of(length=-1), "1000"),
        ("km per hour", of(length=1, time=-1), "5/18"),
        ("metres a second", of(length=1, time=-1), "1"),
        ("metres each second", of(length=1, time=-1), "1"),
        ("m / s^2", of(length=1, time=-2), "1"),
        ("m/s/s", of(length=1, time=-2), "1"),
        ("m s^-1", of(length=1, time=-1), "1"),
        ("kg m/s^2", FORCE, "1000"),
        ("square metres", of(length=2), "1"),
        ("Sq ft", of(length=2), "145161/1562500"),
        ("feet squared", of(length=2), "145161/1562500"),
        ("metres per second squared", of(length=1, time=-2), "1"),
        ("cubic cm", of(length=3), "1/1000000"),
        ("cu ft per min", of(length=3, time=-1), "18435447/39062500000"),
        ("cm cubed", of(length=3), "1/1000000"),
        ("square m km", of(length=3), "1000"),
        (r"kW\cdot h", ENERGY, "3600000000"),
        ("m^2/m", of(length=1), "1"),
    ],
)
def test_units_are_multiplied_divided_and_raised(
    text: str, dimension: Dimension, factor: str
) -> None:
    found = unit(text)
    assert found is not None
    assert (found.dimension, found.factor) == (dimension, Fraction(factor))


@pytest.mark.parametrize(
    "text",
    ["apples", "kilo", "kmin", "M", "m/", "/m", "per s", "min each", "square", "squared", "m^0", "m/m",
     "m ^2", "m^1.5", "HZ", "km apples", "m" * (UNIT_CHARS + 1), "", " . "],
)  # fmt: skip
def test_what_measures_nothing_is_no_unit(text: str) -> None:
    assert unit(text) is None


def test_a_unit_is_read_up_to_its_longest_spelling() -> None:
    longest = f"{' '.join(['square metres'] * 4)} km s"
    assert len(longest) == UNIT_CHARS == 60
    assert unit(longest) is not None
    assert unit(f"{longest}2") is None
    assert named("") is None
    assert named("Kilometers") == named("km")


def test_a_bare_measure_is_commonly_told_in_these_units() -> None:
    told = {*others(of(time=1))}
    assert {Fraction(1), Fraction(60), Fraction(3600), Fraction(86400), Fraction(1, 1000)} < told
    assert {*others(of(length=1, time=-1))} == {
        Fraction(1), Fraction(5, 18), Fraction("0.44704"), Fraction(463, 900),
    }  # fmt: skip
    lengths = {*others(of(length=1))}
    assert {each**2 for each in lengths} < {*others(of(length=2))}
    assert {*others(of(length=2))} - {each**2 for each in lengths} == {
        Fraction("4046.8564224"),
        Fraction(10_000),
    }
    assert {each**3 for each in lengths} < {*others(of(length=3))}
    assert Fraction(1, 1000) in {*others(of(length=3))}
    assert {*others(of(month=1))} == {Fraction(each) for each in (1, 12, 120, 1200)}
    assert [*others(of(luck=1))] == []
